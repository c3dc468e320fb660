"""Choosing C and gamma: cross-validation on shared distances, radius-margin criteria by gradient, scores of features.

May use every estimator.
"""

from .feature_scores import fisher_score, kolmogorov_smirnov_score, pearson_score
from .radius_margin import RadiusMarginSearch
from .search_cv import KernelSearchCV
from .separability import class_separability, single_machine_bound

__all__ = [
    "KernelSearchCV",
    "RadiusMarginSearch",
    "class_separability",
    "fisher_score",
    "kolmogorov_smirnov_score",
    "pearson_score",
    "single_machine_bound",
]
