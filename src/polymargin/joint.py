"""Machines that learn all classes in one problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import kernels
from .files.records import NAMES, stored
from .fitting.callbacks import CallbackSupportMixin, with_callbacks
from .fitting.checks import check_priors
from .fitting.examples import training_set
from .fitting.frame import Frame
from .fitting.parameters import (
    KERNEL,
    NONE,
    PENALTY,
    RUN,
    Array,
    Name,
    Number,
    check_offered,
    check_parameters,
    check_solver,
)
from .fitting.progress import announce
from .fitting.resources import fit_resources
from .fitting.state import whole
from .machines import KESLER_SOLVERS, MACHINES
from .training.certificates import claim_less, joint_error
from .training.decisions import Decision
from .training.hard_margin import check_hard_margin, finite_C, not_separable
from .training.problem import Formulation
from .training.prototypes import PrototypeClassifier
from .training.record import JOINT, check_joint
from .training.solve import solve

CONSTRAINTS = {
    "machine": (Name(tuple(MACHINES)),),
    "loss": (Name(("hinge", "squared_hinge", "logistic")),),
    "C": PENALTY,
    "nu": (NONE, Number("a number in (0, 1]", above=0.0, most=1.0)),
    "intercept": (Name(("auto", "none", "regularized", "exact")),),
    "priors": (NONE, Array("an array with one number per class")),
    "solver": (Name(("auto", *KESLER_SOLVERS)),),
    **KERNEL,
    **RUN,
}


def check_stored(model: JointSVC) -> str | None:
    """What is wrong with a model from a file: its parameters, then its parts."""
    try:
        model._check()
    except ValueError as error:
        return str(error)
    return check_joint(model)


@stored(CONSTRAINTS, JOINT, NAMES, check=check_stored)
class JointSVC(CallbackSupportMixin, PrototypeClassifier):
    r"""Kernel support vector machine that learns all classes in one problem.

    `machine="scatter"` [1]_ gives class c the prototype :math:`w_c` and moves the prototypes away from their mean
    :math:`\bar w`. With :math:`s_i = \langle w_{y_i} - \bar w, \phi(x_i) \rangle + b_{y_i}`, the own score of row i
    above the mean score, T classes and weights :math:`\omega_i`:

    .. math::

        \text{C form:}\quad & \min_w\; \tfrac12 \sum_c \|w_c - \bar w\|^2 + C \sum_i \omega_i\, \ell(1 - s_i) \\
        \nu\text{ form:}\quad & \min_{w, \rho}\; \tfrac12 \sum_c \|w_c - \bar w\|^2 - T \rho
        + \mu \sum_i \omega_i\, \ell(\rho - s_i), \quad \mu = \frac{T}{\nu \sum_i \omega_i}

    Its dual has one variable per row, whatever the number of classes, so 10,000 classes cost no more than two. With
    two classes it is the binary machine at C/2, without or with bias. It is for separable data, for thousands of
    classes and for prototypes: two classes that overlap can both beat the mean score, so among more than two nothing
    makes it tell them apart (four overlapping Gaussians: 63 %; 84 % is possible), and a fit that meets this warns.

    The other machines have a margin per row and class. With slacks :math:`\xi`, m any class other than y:

    .. math:: \min_w\; \tfrac12 \sum_c \|w_c\|^2 + C \sum_i \omega_i\, \ell_i

    - "kesler" [2]_ (Weston-Watkins): :math:`f_y - f_m \ge 1 - \xi_m`, :math:`\ell` the sum of :math:`\xi_m` or of
      :math:`\xi_m^2`; "crammer-singer": the largest :math:`\xi_m`
    - "llw", "adm": :math:`\sum_c f_c = 0, -f_m \ge 1 - \xi_m`, the sum and the largest; "ats", "atm" [3]_: also
      :math:`f_y \ge 1 - \xi_y`; "reinforced": as "ats" with T - 1 for the own class
    - "ovr": the margins of "ats" without :math:`\sum_c f_c = 0`, the sum of :math:`\xi` or of :math:`\xi^2 / 2`

    Parameters
    ----------
    machine : {"scatter", "kesler", "crammer-singer", "llw", "adm", "ats", "atm", "reinforced", "ovr"}, \
            default="crammer-singer"
        The joint problem.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        :math:`\ell(z)` is :math:`z_+`, :math:`z_+^2 / 2` or :math:`\ln(1 + e^z)`; the logistic loss has margin 0 in
        the C form. Scatter has all three, kesler and ovr the first two, the others the hinge.
    C : float, default=1.0
        Weight of the losses against the spread of the prototypes, infinity for a hard margin; not used with `nu`.
    nu : float in (0, 1], default=None
        The :math:`\nu` form: for the hinge without intercept, at most a share `nu` of the rows lie within the margin,
        and at least a share `nu` are support vectors. With the exact intercept `nu` is at most
        :math:`T \min_c W_c / \sum_c W_c`, :math:`W_c` the weight of class c; where only `class_weight` breaks this
        bound, it acts as `priors`: a light class gets the share of the dual's sum that it can hold,
        :math:`W_c / (\nu \sum_c W_c)`, and the others share the rest.
    intercept : {"auto", "none", "regularized", "exact"}, default="auto"
        "none": :math:`b_c = 0`. "regularized": k + 1 takes the place of k. "exact": free :math:`b_c`, one equality
        constraint per class in the dual. "auto" is what serves machine and kernel: "regularized" for crammer-singer,
        kesler and ovr, "exact" for scatter with the linear kernel, else "none". Only scatter has "exact".
    priors : array-like of shape (n_classes,), default=None
        For the exact intercept: class c has the share :math:`\pi_c` of the dual's sum, and
        :math:`\sum_c \pi_c b_c = 0`. None means 1/T for every class.
    solver : {"auto", "smo", "ksk", "mdm"}, default="auto"
        "auto" is the fastest, for every machine; all reach the same optimum. Kesler has the solvers of its paper [2]_
        too, mostly for comparison: "smo" changes one variable at a time (hinge); "ksk" is the kernel
        Schlesinger-Kozinec algorithm and "mdm" the second-order Mitchell-Demyanov-Malozemov algorithm for the point of
        a convex hull nearest to the origin (squared hinge). "ksk" is slow: its gap falls like 1 / steps, as it only
        ever adds to variables; it is there because it is the paper's.
    kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed"} or callable, default="rbf"
        A callable takes two arrays of rows and returns their kernel values, of shape (n_X, n_Z).
    gamma : {"scale", "auto"}, float or array-like of shape (n_features,), default="scale"
        "scale" is 1 / (n_features * X.var()), "auto" is 1 / n_features. One number per feature is the ellipsoidal RBF.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=0.0
        Constant of the polynomial and the sigmoid kernel.
    class_weight : dict or "balanced", default=None
        Factors on the weights of the rows of a class; "balanced" gives all classes the same total weight.
    tol : float, default=1e-3
        Largest violation of the optimality conditions, in the unit of the margin (:math:`\nu` form: relative to
        :math:`\rho`); for "ksk" and "mdm" the largest duality gap.
    max_iter : int, default=10_000_000
        Largest number of steps of the solver; ordinary data stay far below.
    time_limit : float, default=None
        Seconds after which the solver stops.
    memory : "auto", int or str, default="auto"
        Memory for kernel values: bytes, or a string such as "512MB"; "auto" is half of the free memory.
    n_jobs : int, default=None
        Threads; None means all cores, within OMP_NUM_THREADS and threadpoolctl's limits, and 1 in a joblib
        worker; -1 is all cores.
    warm_start : bool, default=False
        Start from the dual solution of the last fit, if that had as many rows: after an interruption, or along a path
        of C.
    random_state : int, default=None
        Seed of the order in which kesler and crammer-singer visit the rows when they train in weight space (linear
        kernel, many rows); None means always the same order. Nothing else is random.
    verbose : int, default=0
        1 shows a progress bar (rich, on a terminal) or a log line every five seconds, 2 a line for every report of the
        solver.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Rows of the training data with a positive coefficient, increasing.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_SV, n_features)
        These rows; empty for `kernel="precomputed"`. A machine trained in weight space takes them from the training
        data when asked (it holds a reference, no copy), and keeps them when it is pickled.
    n_support_ : ndarray of shape (n_classes,)
        Rows of each class with a coefficient above 1e-6 of its upper bound (squared hinge: of the largest coefficient).
    dual_coef_ : sparse CSR array or ndarray of shape (n_classes, n_SV)
        Scatter: the coefficient of support vector i, in the row of its class. Other machines: a dense array, its
        coefficients for all classes.
    intercept_ : ndarray of shape (n_classes,)
        :math:`b_c`; for the regularized intercept the part of the score that comes from the 1 in k + 1.
    coef_ : ndarray of shape (n_classes, n_features)
        :math:`w_c` for the linear kernel.
    gamma_ : float or ndarray of shape (n_features,)
        The kernel's gamma, None for kernels without one.
    rho_ : float
        The margin: a variable in the :math:`\nu` form, 1 in the C form.
    status_ : {"solved", "max_iter", "time_limit", "stalled", "interrupted", "no_margin"}
        Why the solver stopped. "no_margin" (hinge, :math:`\nu` form): the classes overlap so far that the optimum is
        :math:`\rho = 0` with equal prototypes; raise `nu`, choose a kernel that separates the classes, or use the C
        form. Nothing but "solved" is certain to violate the optimality conditions by at most `tol`.
    n_iter_ : int
        Steps of the solver; in weight space, sweeps over the rows.
    primal_objective_, dual_objective_, duality_gap_ : float
        Value of the problem above at the model, the lower bound on its minimum, and their relative difference. Where a
        kernel of your own, or "sigmoid", is seen to be indefinite, or rounding hides it, the difference is infinite.
    kkt_violation_ : float
        Violation of the optimality conditions that was reached; for "no_margin", which has no :math:`\rho` to compare
        it with, in the unit of the scores.
    n_kernel_evals_ : int
        Kernel values that were computed.
    fit_seconds_ : float
        Duration of `fit`.
    shape_fit_ : tuple of int
        Shape of the training data.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X had string column names.

    See Also
    --------
    PairwiseSVC, OneVsRestSVC, OutputCodeSVC : many binary machines instead.
    LandmarkSVC, CoreVectorSVC : for many rows.
    StructuredSVC : losses between classes.

    References
    ----------
    .. [1] R. Jenssen, M. Kloft, A. Zien, S. Sonnenburg and K.-R. Müller, "A scatter-based prototype framework and
       multi-class extension of support vector machines", PLoS ONE 7(10), e42947, 2012: eq. 13 (primal), 15 to 17
       (duals; here with the kernel of eq. 7 divided by T, and corrected ridge and logistic terms).
    .. [2] V. Franc and V. Hlaváč, "Multi-class support vector machine", ICPR 2002: eq. 2 to 7.
    .. [3] Ü. Doğan, T. Glasmachers and C. Igel, "A unified view on multi-class support vector classification", JMLR 17
       (45), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = JointSVC(C=10).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> model.status_, bool(model.duality_gap_ < 1e-2)
    ('solved', True)
    """

    def __init__(
        self,
        machine: str = "crammer-singer",
        *,
        loss: str = "hinge",
        C: float = 1.0,
        nu: float | None = None,
        intercept: str = "auto",
        priors: Any = None,
        solver: str = "auto",
        kernel: str | Callable = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        class_weight: Mapping | str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000_000,
        time_limit: float | None = None,
        memory: str | int = "auto",
        n_jobs: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.machine = machine
        self.loss = loss
        self.C = C
        self.nu = nu
        self.intercept = intercept
        self.priors = priors
        self.solver = solver
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.memory = memory
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @whole
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> JointSVC:
        """Learn the prototypes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; float32 and float64 arrays in C order and CSR matrices are used without a copy. For
            `kernel="precomputed"`, kernel values of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Weights of the rows: 2 is the same as a repeated row, 0 the same as a removed one.

        Returns
        -------
        self : JointSVC
            The fitted machine. Ctrl-C leaves the model reached so far, with `status_ = "interrupted"`, and is
            raised again; a fit that fails leaves the previous model.
        """
        begin = time.perf_counter()
        intercept, machine = self._check(), MACHINES[self.machine]
        given = training_set(self, X, y, sample_weight, precomputed=self.kernel == "precomputed")
        X, rows, T = given.X, given.rows, len(given.classes)
        n_threads, memory = fit_resources(self, X)
        priors = check_priors(self.priors, T)
        gamma = self._gamma(X, given.sample_weight)
        start = self._last_dual(rows, X.shape[0], T) if self.warm_start else None
        announce(given, kernels.kind(self.kernel), n_threads, memory, self.verbose)
        examples = given.examples(kernels.Kernel(self.kernel, gamma, self.degree, self.coef0).record(X, X))
        kernels.check_values(X, rows, examples.kernel)
        C = finite_C(self.C, X, rows, given.weight, examples.kernel)
        f = Formulation(machine, self.loss, C, intercept, self.nu, priors, self.solver)
        strength = f.strength(given.weight, T)
        with Frame(self, begin, given.data) as frame:
            solution = solve(f, examples, frame.limits(n_threads, memory), start, given.plain)
            kernels.check_solution(self.kernel, solution.alpha, solution.intercept)
            self.classes_, self.gamma_, self.shape_fit_ = given.classes, gamma, X.shape
            self._set_report(solution, given.y, strength)
            self._set_prototypes(X, rows, given.y, solution)
            examples = replace(examples, kernel=f.kernel(examples.kernel))
            if self.status_ != "no_margin" and not solution.centered:
                claim_less(self, joint_error(self, examples, solution, strength))
            frame.indefinite = kernels.indefinite(X, rows, examples.kernel, zero_sums=intercept == "exact")
            frame.interrupted = solution.signalled
            frame.remark = None if machine.margins else self._overlap(X, rows, given.y)
            if np.inf == self.C and self.nu is None:
                slack = self.tol if f.form.ridge else None
                frame.remark = not_separable(solution.alpha, strength, T, slack) or frame.remark
        return self

    def _check(self) -> str:
        """Check the parameters; returns what `intercept` stands for."""
        check_parameters(self, CONSTRAINTS)
        machine = MACHINES[self.machine]
        intercept = machine.auto_intercept(self.kernel) if self.intercept == "auto" else self.intercept
        check_offered("loss", self.loss, machine.losses, self.machine)
        check_offered("intercept", intercept, machine.intercepts, self.machine)
        check_offered("solver", self.solver, machine.solvers, self.machine)
        check_solver(self.solver, self.loss, KESLER_SOLVERS.get(self.solver))
        check_hard_margin(self.C, self.loss)
        for parameter in ("nu", "priors"):
            if getattr(self, parameter) is not None and not getattr(machine, parameter):
                raise ValueError(
                    f'expected {parameter}=None with machine="{self.machine}", got {getattr(self, parameter)!r}; '
                    f"it has no such form"
                )
        if self.priors is not None and intercept != "exact":
            raise ValueError(
                f'expected intercept="exact" with priors, which set its class sums, got intercept="{intercept}"'
            )
        return intercept

    def _last_dual(self, rows: np.ndarray, n: int, n_classes: int) -> np.ndarray | None:
        """The dual solution of the last fit on the used rows, if that fit was of this kind and had n rows."""
        if getattr(self, "shape_fit_", (None,))[0] != n or not hasattr(self, "dual_coef_"):
            return None
        last, joint = self.dual_coef_, MACHINES[self.machine].margins is not None
        if sp.issparse(last) == joint or (joint and len(last) != n_classes):
            return None
        start = np.zeros(n) if sp.issparse(last) else np.zeros((len(last), n))
        if sp.issparse(last):
            start[self.support_[last.indices]] = last.data
        else:
            start[:, self.support_] = last
        return start[..., rows]

    def _decision(self) -> Decision:
        return Decision(len(self.classes_), scale=MACHINES[self.machine].binary_scale)

    def _weights(self) -> np.ndarray:
        W, machine = super()._weights(), MACHINES[self.machine]
        # Scores that sum to zero do so except for rounded coefficients, and far from the origin that is not little.
        return W - W.mean(axis=0) if machine.margins and machine.margins.reference == "mean" else W

    def _set_report(self, solution: Any, y: np.ndarray, strength: np.ndarray) -> None:
        unbounded = self.loss == "squared_hinge" or (np.inf == self.C and self.nu is None)
        box = solution.alpha.max(initial=0.0) if unbounded else strength
        self.n_support_ = np.bincount(y[solution.alpha > 1e-6 * box], minlength=len(self.classes_)).astype(np.int32)
        self.rho_ = float(solution.rho)
        # "ksk" and "mdm" are solved by their gap.
        reached = solution.duality_gap if self.solver in ("ksk", "mdm") else solution.kkt_violation
        self.status_ = "stalled" if solution.status == "solved" and not reached <= self.tol else str(solution.status)
        self.n_iter_ = int(solution.n_iter)
        self.primal_objective_ = float(solution.primal_objective)
        self.dual_objective_ = float(solution.dual_objective)
        self.duality_gap_ = float(solution.duality_gap)
        self.kkt_violation_ = float(solution.kkt_violation)
        self.n_kernel_evals_ = int(solution.n_kernel_evals)
