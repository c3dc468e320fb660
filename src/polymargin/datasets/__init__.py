"""The data of the papers: artificial sets drawn from a seed, and real sets found by name.

>>> from polymargin.datasets import load, make_circle
>>> X, y = make_circle(n_classes=10, per_class=5, random_state=0)
>>> X.shape
(50, 2)
>>> load("iris").X_train.shape
(150, 4)
"""

from .generate import (
    make_checker,
    make_circle,
    make_clusters,
    make_gaussians,
    make_line,
    make_rings,
    make_sensitivity_toy,
    make_star,
    make_text_toy,
    make_two_blobs,
)
from .sources import NAMES, Dataset, DatasetNotFound, load

__all__ = [
    "NAMES",
    "Dataset",
    "DatasetNotFound",
    "load",
    "make_checker",
    "make_circle",
    "make_clusters",
    "make_gaussians",
    "make_line",
    "make_rings",
    "make_sensitivity_toy",
    "make_star",
    "make_text_toy",
    "make_two_blobs",
]
