"""scikit-learn's own checks of core vector machines and enclosing balls, without expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import CoreVectorSVC, EnclosingBall

CONFIGURATIONS = [
    CoreVectorSVC(),
    CoreVectorSVC(C=10, intercept="regularised", kernel="linear"),
    CoreVectorSVC(nu=1e-4, class_weight="balanced"),
    CoreVectorSVC(kernel="poly", degree=2, coef0=1.0, normalize=True),
    CoreVectorSVC(kernel="precomputed", intercept="regularised"),
    EnclosingBall(),
    EnclosingBall(C=0.1, kernel="linear"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
