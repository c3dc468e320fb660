"""Figures that make a statement with numbers: Jenssen et al. 3 and 17, Wang et al. 1 and 7."""

from __future__ import annotations

import numpy as np

from ..datasets import make_rings, make_sensitivity_toy, make_star
from ..joint import JointSVC
from ..reductions import PairwiseSVC
from ..selection import RadiusMarginSearch
from ..sensitivity import sensitivity_map
from . import criteria
from .exhibit import Exhibit
from .protocol import SEED, fitted

SCATTER, CRITERIA = "Jenssen et al. 2012, PLoS ONE 7(10) e42947, ", "Wang, Xue and Chan 2008, IEEE Trans. SMC B 38(6), "


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


def error_sums(row: str, column: str, fast: bool) -> dict:
    """Correlation over a grid of C and sigma of the multiclass errors and the sum of the pairs' errors."""
    X, y, X_test, y_test = criteria.half(row, 0)
    joint, pairs = [], []
    steps = 4 if fast else 8
    for C in np.exp(np.linspace(-4, 8, steps)):
        for sigma in np.exp(np.linspace(-3, 4, steps)):
            model = fitted(PairwiseSVC(C, loss="squared_hinge", gamma=1 / (2 * sigma**2), n_jobs=1), X, y)
            joint.append(np.sum(model.predict(X_test) != y_test))
            F, errors = model.pair_decisions_(X_test), 0
            for k, (a, b) in enumerate(model.classes_[model.pairs_]):
                mine = (y_test == a) | (y_test == b)
                errors += np.sum(np.where(F[mine, k] > 0, a, b) != y_test[mine])
            pairs.append(errors)
    return {"correlation": float(np.corrcoef(joint, pairs)[0, 1])}


def rings(row: str, column: str, fast: bool) -> dict:
    """In how many of 100 random halves the two useful of 52 features get the two largest g."""
    X, y = make_rings(random_state=SEED)
    found, trials = 0, 2 if fast else 100
    for k in range(trials):
        half = np.random.default_rng([SEED, k]).permutation(len(y))[: len(y) // 2]
        (Z,) = criteria.box(X[half])
        machine = PairwiseSVC(10.0, loss="squared_hinge")
        search = RadiusMarginSearch(machine, criterion="II", kernel="ellipsoidal", cv=None, refit=False, n_jobs=1)
        g = fitted(search, Z, y[half]).feature_weights_
        found += set(np.argsort(g)[-2:]) == {0, 1}
    return {"value": 100 * found / trials}


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
CRITERIA_FIGURES = (
    Exhibit(
        paper="criteria",
        name="figure 1",
        title="Correlation of the multiclass errors and the sum of the pairs' errors over C and sigma",
        where=CRITERIA + "figure 1",
        printed={
            ("Wine", "1vs1", "correlation"): (0.998, None),
            ("Vowel", "1vs1", "correlation"): (0.942, None),
        },
        compute=error_sums,
        own=("1vs1",),
        fast_rows=("Wine",),
        decided=(
            "One half; ln C from -4 to 8, ln sigma from -3 to 4: the limits of the paper's axes are not printed.",
        ),
    ),
    Exhibit(
        paper="criteria",
        name="figure 7",
        title="Trials out of 100 in which criterion II finds the two useful of 52 features",
        where=CRITERIA + "section VI-C1 and figure 7",
        printed={("Rings", "II", "value"): (100.0, None)},
        compute=rings,
        own=("II",),
        decided=("Radii 1, 2, 3; N(0, 20) is read as a variance. Features are scaled to [-1, 1] by each half.",),
    ),
)
