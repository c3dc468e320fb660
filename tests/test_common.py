"""scikit-learn's own checks of an estimator, without expected failures.

One configuration for every kind of problem, solver, storage and option. Losses, forms, intercepts and kernels meet here
as they come, for each has code of its own; `test_oracles.py`, `test_machines.py` and `test_kernel_core.py` go through
their combinations.
"""

import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import (
    AutoSVC,
    CoreVectorSVC,
    EnclosingBall,
    GRNNRegressor,
    JointSVC,
    KernelDensityNB,
    KernelSearchCV,
    LandmarkSVC,
    OneVsRestSVC,
    OutputCodeSVC,
    PairwiseSVC,
    RadiusMarginSearch,
    StructuredSVC,
    SupervisedIsomap,
)


class Gauss:
    """A callable kernel whose name, unlike that of a function, is the same in every process."""

    def __call__(self, X, Z):
        return rbf_kernel(X, Z, gamma=0.5)

    def __repr__(self):
        return "Gauss()"


CONFIGURATIONS = [
    # A variable per example ("scatter"): every loss, both forms, every intercept, every source of kernel values.
    JointSVC(
        "scatter", loss="squared_hinge", kernel="cosine", intercept="exact"
    ),  # a ridge; a sum per class; rows of length one
    JointSVC("scatter", loss="logistic", intercept="regularized"),  # entropy; K + 1
    JointSVC("scatter", kernel="poly", degree=2, coef0=1.0),  # hinge, C, no intercept; rows of unequal length
    JointSVC(
        "scatter", nu=0.1, kernel="precomputed", intercept="exact", class_weight="balanced", max_iter=100_000
    ),  # nu; pairwise data; weights
    JointSVC(
        "scatter", nu=0.1, loss="squared_hinge", kernel=Gauss(), intercept="regularized"
    ),  # nu with a ridge; a callable
    # Indefinite; little memory, threads, warm starts.
    JointSVC("scatter", kernel="sigmoid", gamma=0.1, intercept="exact", memory="1MB", n_jobs=2, warm_start=True),
    # A variable per example and class: sums and largest slacks, margins over the own score and against the mean.
    JointSVC("kesler", loss="squared_hinge", solver="mdm", kernel="precomputed"),  # paper 2's own solvers
    JointSVC("crammer-singer", class_weight="balanced", memory="1MB", n_jobs=2, warm_start=True),
    JointSVC("atm", kernel="linear", intercept="regularized"),  # scores by weights
    # Binary machines by code: pairs, one against the rest, codes with and without zeros; the three ways to decide.
    PairwiseSVC(decision="dag", loss="squared_hinge", kernel="linear"),
    PairwiseSVC(kernel="precomputed", tol=1e-6, memory="1MB", n_jobs=2, warm_start=True, class_weight="balanced"),
    OneVsRestSVC(),
    OutputCodeSVC(code="sparse", decoding="hamming"),
    # Core sets: C and nu, kernels of constant length and not; all classes in one ball.
    CoreVectorSVC(nu=1e-4, class_weight="balanced"),
    CoreVectorSVC(C=10, intercept="regularized", kernel="poly", degree=2, coef0=1.0, normalize=True),
    EnclosingBall(C=0.1, kernel="linear"),
    # Landmarks: some rows, or all of them; L1 distances; the hinge and its square.
    LandmarkSVC("ovr", loss="squared_hinge", n_landmarks=8, landmarks="cholesky", kernel="laplacian", gamma="auto"),
    LandmarkSVC("scatter", kernel="precomputed", class_weight="balanced", warm_start=True, memory="1MB"),
    # Cutting planes: one slack for all rows, or one each.
    StructuredSVC(C=0.1, algorithm="one-slack", class_weight="balanced"),
    StructuredSVC(C=0.03, algorithm="n-slack", rescaling="slack"),
    # Transformers and a regressor: graphs by neighbors and by radius, landmarks, averages.
    SupervisedIsomap(n_components=3, n_neighbors=3, spread=0.95),
    SupervisedIsomap(alpha=None, n_landmarks=8, radius=0.6),
    GRNNRegressor(spread=1.0, n_neighbors=5, interpolate=True),
    # What trains other estimators, and the baseline.
    KernelSearchCV(PairwiseSVC(), C=[1.0, 10.0], gamma=[0.1, "scale"], cv=2),
    RadiusMarginSearch(JointSVC("scatter"), kernel="ellipsoidal", criterion="II", max_iter=3, inner_tol=1e-10, cv=None),
    AutoSVC(cv=2, C=10.0),
    KernelDensityNB(),
]


# Convergence: one check fits very noisy data with class weights of 1000 and 0.0001 and at most 1000 steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.filterwarnings("ignore:The criterion misleads")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
