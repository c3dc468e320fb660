"""scikit-learn's own checks of an estimator, on every configuration and without expected failures."""

from itertools import product

import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import JointSVC


class Gauss:
    """A callable kernel whose name, unlike that of a function, is the same in every process."""

    def __call__(self, X, Z):
        return rbf_kernel(X, Z, gamma=0.5)

    def __repr__(self):
        return "Gauss()"


losses, nus, intercepts = ("hinge", "squared_hinge", "logistic"), (None, 0.1), ("none", "exact", "regularised")

CONFIGURATIONS = [JointSVC(loss=loss, nu=nu, intercept=b) for loss, nu, b in product(losses, nus, intercepts)] + [
    # Without an intercept, a linear machine or a narrow kernel cannot give all of the plane to one class.
    JointSVC(kernel="linear", intercept="exact"),
    JointSVC(kernel="linear", intercept="regularised", loss="squared_hinge"),
    JointSVC(kernel="cosine", intercept="exact"),
    JointSVC(kernel="poly", degree=2, coef0=1.0),
    JointSVC(kernel="sigmoid", gamma=0.1, intercept="exact"),
    JointSVC(kernel="laplacian", gamma="auto"),
    JointSVC(kernel="precomputed", intercept="regularised"),
    JointSVC(kernel="precomputed", nu=0.1, intercept="exact"),
    JointSVC(kernel=Gauss(), intercept="regularised"),
    JointSVC(class_weight="balanced"),
    JointSVC(class_weight="balanced", nu=0.1, intercept="exact"),
    JointSVC(C=2.0, tol=1e-6, memory="1MB", n_jobs=2, warm_start=True),
]


# One check fits very noisy data with class weights of 1000 and 0.0001 and at most 1000 steps.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
