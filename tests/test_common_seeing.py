"""scikit-learn's own checks of the estimators that make pictures of classes, and of the structured machine."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import GRNNRegressor, StructuredSVC, SupervisedIsomap

CONFIGURATIONS = [
    GRNNRegressor(),
    GRNNRegressor(spread=1.0, n_neighbors=5, interpolate=True),
    SupervisedIsomap(),
    SupervisedIsomap(n_components=3, n_neighbors=3, spread=0.95),
    SupervisedIsomap(alpha=None, n_landmarks=8),
    SupervisedIsomap(radius=0.6),
    StructuredSVC(),
    StructuredSVC(rescaling="slack"),
    StructuredSVC(algorithm="one-slack", class_weight="balanced"),
    StructuredSVC(algorithm="n-slack"),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn(estimator, check):
    check(estimator)
