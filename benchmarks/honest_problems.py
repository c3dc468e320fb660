"""Random problems for `benchmarks.honesty`: problem N of seed S is always the same, whatever was run before it.

A problem is an estimator with its parameters, rows in some form of storage, labels and weights. The recipe says which
difficulties the rows have; nothing here knows the answers.
"""

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import polymargin
from polymargin.kernels import HAS_GAMMA
from polymargin.machines import KESLER_SOLVERS, MACHINES

KERNELS = ("rbf", "ellipsoidal", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed", "callable")
STORAGE = ("float64", "float64", "float32", "float64-F", "float32-F", "csr-int32", "csr-int64", "csr-float32",
           "read-only", "memmap", "memmap-float32", "list")  # fmt: skip
SHAPES = ("overlapping", "overlapping", "separable", "noise")
ESTIMATORS = {
    "JointSVC": 10, "PairwiseSVC": 3, "OneVsRestSVC": 2, "OutputCodeSVC": 2, "CoreVectorSVC": 3, "EnclosingBall": 1,
    "StructuredSVC": 2,
}  # fmt: skip
REGULARIZED = next(name for name in MACHINES["kesler"].intercepts if name.startswith("regular"))
SECONDS = 4.0  # time_limit of a fit


@dataclass
class Problem:
    number: int
    estimator: str
    params: dict[str, Any]
    recipe: dict[str, Any]
    X: Any = None  # as it is passed to fit
    rows: np.ndarray = None  # the same as a plain array, of the type in which X holds its numbers
    y: np.ndarray = None
    weight: np.ndarray | None = None

    @property
    def kind(self) -> str:
        """What the counts are kept by."""
        p = self.params
        if self.estimator == "JointSVC":
            form = "nu" if p["nu"] is not None else "C"
            return f"{p['machine']} {p['loss']} {form} {p['intercept']}" + (
                f" {p['solver']}" if p["solver"] != "auto" else ""
            )
        if self.estimator == "CoreVectorSVC":
            return f"core {p['scheme']} {p['code']} {'nu' if p['nu'] is not None else 'C'} {p['intercept']}"
        if self.estimator == "StructuredSVC":
            return f"structured {p['rescaling']} {p['algorithm']} {p['intercept']}"
        return f"{self.estimator} {p['loss']}" if "loss" in p else self.estimator

    def model(self) -> Any:
        return getattr(polymargin, self.estimator)(**self.params)

    def describe(self) -> str:
        params = ", ".join(
            f"{k}={getattr(v, '__name__', np.round(v, 6).tolist() if isinstance(v, np.ndarray) else repr(v))}"
            for k, v in self.params.items()
        )
        return f"{self.estimator}({params})\n    rows: {self.recipe}"


def rbf_callable(X, Z):
    """A kernel of the user's own, on dense or sparse rows: a sum of a narrow and a wide RBF."""
    A, B = (np.asarray(M.toarray() if sp.issparse(M) else M, dtype=np.float64) for M in (X, Z))
    d = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        d += (a[:, None] - b[None, :]) ** 2
    return 0.5 * np.exp(-d) + 0.5 * np.exp(-0.01 * d)


def log_uniform(rng, low, high):
    return float(10 ** rng.uniform(np.log10(low), np.log10(high)))


def make(seed: int, number: int, largest: int = 3200) -> Problem:
    """Problem `number` of this seed."""
    rng = np.random.default_rng([seed, number])
    name = str(rng.choice(list(ESTIMATORS), p=np.array(list(ESTIMATORS.values())) / sum(ESTIMATORS.values())))
    recipe = make_recipe(rng, largest)
    X, y = make_rows(rng, recipe)
    if name == "EnclosingBall":
        recipe["labels"] = "none"
    weight = make_weights(rng, recipe, y)
    problem = Problem(number, name, {}, recipe, None, X, y, weight)
    kernel = "linear" if name == "StructuredSVC" else str(rng.choice(KERNELS))
    if kernel == "precomputed" and (name == "EnclosingBall" or recipe["n"] > 400):
        kernel = "rbf"
    if kernel == "callable" and recipe["n"] > 400:
        kernel = "laplacian"
    recipe["kernel"] = kernel
    problem.params = make_params(rng, name, kernel, recipe, y, weight)
    store(rng, problem)
    return problem


def make_recipe(rng, largest):
    large = rng.random() < 0.03
    n = int(rng.integers(min(600, largest), largest + 1)) if large else int(np.exp(rng.uniform(np.log(4), np.log(400))))
    T = int(rng.integers(2, 9))
    pick = lambda share, make: make() if rng.random() < share else None  # noqa: E731
    return dict(
        n=max(n, 4, T),
        d=int(rng.integers(1, 31)),
        T=T,
        shape=str(rng.choice(SHAPES)),
        shift=pick(0.15, lambda: log_uniform(rng, 1e2, 1e6)),
        scale=pick(0.2, lambda: log_uniform(rng, 1e-6, 1e4)),
        duplicates=bool(rng.random() < 0.15),
        contradictions=bool(rng.random() < 0.15),
        constant=bool(rng.random() < 0.1),
        imbalanced=bool(rng.random() < 0.2),
        single=bool(rng.random() < 0.03),  # one row per class
        sparse=float(rng.choice([0.0, 0.0, 0.5, 0.9])),
        labels=str(rng.choice(["int", "int", "str", "negative"])),
    )


def make_rows(rng, r):
    if r["single"]:
        r["n"] = r["T"]
    n, d, T = r["n"], r["d"], r["T"]
    share = 0.4 ** np.arange(T) if r["imbalanced"] else np.ones(T)
    y = np.concatenate([np.arange(T), rng.choice(T, n - T, p=share / share.sum())])
    rng.shuffle(y)
    distance = dict(overlapping=rng.uniform(0.3, 2), separable=8.0, noise=0.0)[r["shape"]]
    X = rng.standard_normal((n, d)) + distance * rng.standard_normal((T, d))[y]
    if r["sparse"]:
        X *= rng.random((n, d)) >= r["sparse"]
    if r["duplicates"]:
        copies = rng.integers(0, n, n // 3)
        at = rng.integers(0, n, n // 3)
        X[at], same = X[copies], y[at] == y[copies]
        X[at[~same]] += 0.0 if r["contradictions"] else 1e-3
    elif r["contradictions"] and n > T:
        X[rng.integers(0, n, max(1, n // 10))] = X[int(rng.integers(n))]
    if r["constant"]:
        X[:, int(rng.integers(d))] = rng.choice([0.0, 1.0, -3.0])
    if r["scale"]:
        X *= r["scale"]
    if r["shift"]:
        X += r["shift"] * (r["scale"] or 1.0) * rng.choice([-1.0, 1.0], d)
    names = np.array([f"class {c}" for c in range(T)]) if r["labels"] == "str" else np.arange(T)
    return X, names[y] if r["labels"] != "negative" else y - 3


def make_weights(rng, r, y):
    """None, or weights that differ by factors, some of them zero; every class keeps a row."""
    r["weights"] = str(rng.choice(["none", "none", "none", "some", "zeros"]))
    if r["weights"] == "none":
        return None
    w = 10 ** rng.uniform(-1, 1, len(y))
    if r["weights"] == "zeros":
        keep = np.zeros(len(y), bool)
        keep[np.unique(y, return_index=True)[1]] = True
        w[(rng.random(len(y)) < 0.3) & ~keep] = 0.0
    return w


def make_params(rng, name, kernel, r, y, weight):
    p: dict[str, Any] = dict(C=log_uniform(rng, 1e-6, 1e6))
    if rng.random() < 0.5:  # as often as all other values: where support vectors are neither all nor none
        p["C"] = log_uniform(rng, 1e-2, 1e2)
    p |= dict(tol=float(rng.choice([1e-2, 1e-3, 1e-6])), n_jobs=int(rng.choice([1, 2])), time_limit=SECONDS)
    p["max_iter"] = int(rng.choice([10_000_000] * 12 + [1, 30, 1000]))
    if name != "StructuredSVC":
        p |= kernel_params(rng, kernel, r)
    if name != "EnclosingBall":
        p["class_weight"] = rng.choice([None, None, None, "balanced", "dict"])
        if p["class_weight"] == "dict":
            p["class_weight"] = {c: log_uniform(rng, 0.1, 10) for c in np.unique(y).tolist()}
    if name in ("PairwiseSVC", "OneVsRestSVC", "OutputCodeSVC"):
        p["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
    if name == "JointSVC":
        p |= joint_params(rng, r, y, weight, p)
    elif name == "PairwiseSVC":
        p["decision"] = str(rng.choice(["max-wins", "dag"]))
    elif name == "OutputCodeSVC":
        p |= dict(code=str(rng.choice(["dense", "sparse"])), random_state=0)
        p["decoding"] = str(rng.choice(["exp", "hinge", "hamming"]))
    elif name == "CoreVectorSVC":
        p |= core_params(rng, kernel, r)
    elif name == "EnclosingBall":
        p["C"] = float("inf") if rng.random() < 0.5 else p["C"]
    elif name == "StructuredSVC":
        p |= structured_params(rng, r) | dict(max_iter=min(p["max_iter"], 10_000))
    return p


def kernel_params(rng, kernel, r):
    if kernel == "callable":
        return dict(kernel=rbf_callable)
    p: dict[str, Any] = dict(kernel="rbf" if kernel == "ellipsoidal" else kernel)
    unit = 1 / (r["d"] * (r["scale"] or 1.0) ** 2)  # a gamma at which rows without a class are neighbors
    if kernel == "ellipsoidal":
        p["gamma"] = unit * 10 ** rng.uniform(-1, 1, r["d"])
    elif kernel in HAS_GAMMA:
        p["gamma"] = "scale" if rng.random() < 0.6 else unit * log_uniform(rng, 0.01, 10)
        if kernel == "laplacian" and not isinstance(p["gamma"], str):
            p["gamma"] = p["gamma"] * (r["scale"] or 1.0)
    if kernel == "poly":
        p |= dict(degree=int(rng.integers(1, 4)), coef0=float(rng.choice([0.0, 1.0])))
    if kernel == "sigmoid":
        p["coef0"] = float(rng.choice([0.0, -0.5, 1.0]))
    return p


def joint_params(rng, r, y, weight, p):
    name = str(rng.choice(["scatter", *MACHINES]))  # scatter has most forms: twice
    machine = MACHINES[name]
    out = dict(machine=name, loss=str(rng.choice(machine.losses)), nu=None, priors=None, solver="auto")
    out["intercept"] = str(rng.choice(machine.intercepts))
    if len(machine.solvers) > 1 and rng.random() < 0.5:
        out["solver"] = str(rng.choice([s for s, loss in KESLER_SOLVERS.items() if loss == out["loss"]]))
    exact = out["intercept"] == "exact"
    if machine.priors and exact and rng.random() < 0.4:
        out["priors"] = rng.dirichlet(np.full(r["T"], 5.0)) * 0.8 + 0.2 / r["T"]
    if machine.nu and rng.random() < 0.4:
        plain, full = class_totals(y, weight, p["class_weight"])
        most = 1.0
        if exact:  # the bound that the documentation of nu gives
            W = plain if out["priors"] is None else full
            most = float(np.min(W / W.sum() / (1 / r["T"] if out["priors"] is None else out["priors"])))
        out["nu"] = float(min(most, 1.0) * rng.uniform(0.02, 0.99))
    return out


def class_totals(y, weight, class_weight):
    """Total weight of every class, without and with class_weight."""
    classes, index = np.unique(y, return_inverse=True)
    plain = np.bincount(index, weight)
    if class_weight is None:
        return plain, plain
    if isinstance(class_weight, str):
        return plain, np.full(len(plain), plain.mean())
    return plain, plain * np.array([class_weight[c] for c in classes.tolist()])


def core_params(rng, kernel, r):
    pairwise = rng.random() < 0.3
    p = dict(scheme="pairwise" if pairwise else "joint", intercept=str(rng.choice(["none", REGULARIZED])))
    p["code"] = "simplex" if pairwise or r["T"] == 2 else str(rng.choice(["simplex", "printed"]))
    p["nu"] = log_uniform(rng, 1e-3, 1) if rng.random() < 0.3 else None
    p["normalize"] = bool(kernel not in ("precomputed", "callable") and rng.random() < 0.15)
    p["epsilon"] = log_uniform(rng, 1e-4, 0.1) if kernel != "precomputed" and rng.random() < 0.15 else None
    p["random_state"] = 0
    return p


def structured_params(rng, r):
    T = r["T"]
    p = dict(rescaling=str(rng.choice(["margin", "slack"])), intercept=str(rng.choice(["none", REGULARIZED])))
    p["algorithm"] = str(rng.choice(["auto", "auto", "one-slack", "n-slack"]))
    p["scaling"] = str(rng.choice(["unit", "unit", "unit", "svm-multiclass"]))
    p["loss_matrix"] = None
    if rng.random() < 0.5:
        p["loss_matrix"] = rng.uniform(0.2, 5, (T, T)) * (1 - np.eye(T))
    return p


def store(rng, problem):
    """X in a form of storage that the estimator takes; `rows` become the numbers that it then holds."""
    form = str(rng.choice(STORAGE))
    if problem.params.get("kernel") == "precomputed":
        from .honest_values import kernel_matrix

        gamma = 1 / (problem.rows.shape[1] * max(float(problem.rows.var()), 1e-300))
        K = kernel_matrix("rbf", problem.rows, problem.rows, gamma, 3, 0.0)
        problem.rows = np.asarray(K, dtype=np.float64)
        form = form if form in ("float64", "float32", "float64-F", "read-only", "list") else "float64"
    if form == "list" and problem.rows.size > 5000:
        form = "float64"
    problem.recipe["storage"] = form
    X = problem.rows.astype(np.float32 if "float32" in form else np.float64)
    problem.rows = X
    if form.startswith("csr"):
        M = sp.csr_array(X)
        wide = np.int64 if form == "csr-int64" else np.int32
        M.indices, M.indptr = M.indices.astype(wide), M.indptr.astype(wide)
        problem.X = M
    elif form.endswith("-F"):
        problem.X = np.asfortranarray(X)
    elif form == "read-only":
        problem.X = X.copy()
        problem.X.flags.writeable = False
    elif form.startswith("memmap"):
        with tempfile.TemporaryFile() as file:  # the map keeps what has no name any more
            problem.X = np.memmap(file, dtype=X.dtype, mode="w+", shape=X.shape)
        problem.X[:] = X
    else:
        problem.X = X.tolist() if form == "list" else X
