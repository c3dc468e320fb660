"""Figures that make a statement with numbers: Jenssen et al. 3 and 17."""

from __future__ import annotations

import numpy as np

from ..datasets import make_sensitivity_toy, make_star
from ..joint import JointSVC
from ..sensitivity import sensitivity_map
from .exhibit import Exhibit
from .protocol import SEED

SCATTER = "Jenssen et al. 2012, PLoS ONE 7(10) e42947, "


def star(row: str, column: str, fast: bool) -> dict:
    """Support vectors of three separable classes, hard margin with bias: nu = T/n."""
    X, y = make_star(random_state=SEED)
    model = JointSVC(nu=3 / len(y), intercept="exact", kernel="linear").fit(X, y)
    return {"support vectors": int(model.n_support_[int(row.split()[1]) - 1])}


def toy_sensitivity(row: str, column: str, fast: bool) -> dict:
    """The share of a dimension in the sensitivity of the mean function, in percent; the test set must be perfect."""
    X, y = make_sensitivity_toy(random_state=[SEED, 1])
    X_test, y_test = make_sensitivity_toy(random_state=[SEED, 2])
    model = JointSVC(C=1.0, gamma=0.5).fit(X, y)
    s = np.ravel(sensitivity_map(model, X, y, of="mean"))
    return {"value": 100 * s[int(row.split()[1]) - 1] / s.sum(), "accuracy": 100 * model.score(X_test, y_test)}


SCATTER_FIGURES = (
    Exhibit(
        paper="scatter",
        name="figure 3",
        title="Support vectors of three classes around a centre",
        where=SCATTER + "figure 3: one support vector for each class",
        printed={(f"class {c}", "Scatter", "support vectors"): (1.0, None) for c in (1, 2, 3)},
        compute=star,
        own=("Scatter",),
        decided=("Centres and spread are ours; linear kernel, bias, hard margin.",),
    ),
    Exhibit(
        paper="scatter",
        name="figure 17",
        title="Share of each dimension in the sensitivity of the toy set, in percent",
        where=SCATTER + "figures 16 and 17: sensitive to dimensions 1 to 3, a picture without numbers",
        printed={(f"dimension {j}", "Scatter", "value"): (None, None) for j in range(1, 6)},
        compute=toy_sensitivity,
        own=("Scatter",),
        decided=("The set is drawn after the picture; C = 1 and gamma = 0.5 classify the test set without error.",),
    ),
)
