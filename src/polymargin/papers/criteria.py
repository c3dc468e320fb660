"""Wang, Xue and Chan (2008), "Two criteria for model selection in multiclass SVMs", section VI: tables IV to IX.

Protocol: 100 random halves of each set, features in [-1, 1] by the training half; C and gamma chosen on the first five
training halves (from C = 1, gamma = 1/(2d)), their medians used on all halves; mean test error of six multiclass
methods. DNA and Satimage: chosen on five halves of the training set, tested once on the official test set.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.svm import SVC

from ..datasets import load
from ..joint import JointSVC
from ..output_codes import OutputCodeSVC
from ..reductions import OneVsRestSVC, PairwiseSVC
from ..selection import RadiusMarginSearch
from .protocol import SEED, best, fitted, folds, timed

CHOSEN_ON = 5  # halves to choose C and gamma on
NAMES = {"E.coli": "ecoli", "DNA": "dna"}
SQUARED = dict(loss="squared_hinge")
METHODS = {
    "1vs1": lambda C, **p: PairwiseSVC(C, **SQUARED, **p),
    "1vsall": lambda C, **p: OneVsRestSVC(C, **SQUARED, **p),
    "dag": lambda C, **p: PairwiseSVC(C, decision="dag", **SQUARED, **p),
    "dense": lambda C, **p: OutputCodeSVC(C, code="dense", decoding="exp", random_state=SEED, **SQUARED, **p),
    "sparse": lambda C, **p: OutputCodeSVC(C, code="sparse", decoding="exp", random_state=SEED, **SQUARED, **p),
    # Of two classes it is the binary machine with C/2 sum xi^2.
    "single": lambda C, **p: JointSVC("kesler", C=C / 4, **SQUARED, **p),
}


def box(X: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Rows scaled to [-1, 1] by the first argument; what is missing becomes the mean."""
    X = np.asarray(X, dtype=np.float64)
    low, high, mean = np.nanmin(X, axis=0), np.nanmax(X, axis=0), np.nanmean(X, axis=0)
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    return [(np.where(np.isnan(Z), mean, Z) - middle) / half for Z in (X, *others)]


@cache
def raw(row: str):
    return load(NAMES.get(row, row.lower()))


def half(row: str, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The k-th random half of the (training) rows, scaled, and the other half: X, y, X_test, y_test."""
    D = raw(row)
    order = np.random.default_rng([SEED, k]).permutation(len(D.y_train))
    a, b = order[: len(order) // 2], order[len(order) // 2 :]
    X, X_test = box(D.X_train[a], D.X_train[b])
    return X, D.y_train[a], X_test, D.y_train[b]


def has_test_rows(row: str) -> bool:
    return row in ("DNA", "Satimage")


@cache
def chosen(row: str, criterion: str, kernel: str, fast: bool) -> dict:
    """Medians of C and gamma over five training halves, and the mean effort of the search."""
    found = []
    for k in range(1 if fast else CHOSEN_ON):
        X, y, *_ = half(row, k)
        found.append(search(X, y, criterion, kernel))
    return dict(
        C=float(np.median([s.best_params_["C"] for s in found])),
        gamma=np.median([s.best_params_["gamma"] for s in found], axis=0),
        iterations=float(np.mean([s.n_iter_ for s in found])),
        evaluations=float(np.mean([s.n_evaluations_ for s in found])),
    )


def search(X: np.ndarray, y: np.ndarray, criterion: str, kernel: str, **run) -> RadiusMarginSearch:
    estimator = PairwiseSVC(1.0, **SQUARED)
    return fitted(RadiusMarginSearch(estimator, criterion=criterion, kernel=kernel, cv=None, refit=False, **run), X, y)


GRID_C, GRID_GAMMA = 2.0 ** np.arange(-2, 13, 2), 2.0 ** np.arange(-10, 5, 2)


@cache
def chosen_by_cv(row: str, method: str, fast: bool) -> dict:
    """Medians of the best C and gamma of five-fold cross-validation."""
    found = []
    for k in range(1 if fast else 2):
        X, y, *_ = half(row, k)
        splits = folds(y, 5)
        accuracy = np.array(
            [
                [
                    [100 * fitted(METHODS[method](C, gamma=g), X[a], y[a]).score(X[b], y[b]) for a, b in splits]
                    for C in (GRID_C[1::4] if fast else GRID_C)
                ]
                for g in (GRID_GAMMA[1::4] if fast else GRID_GAMMA)
            ]
        )
        g, c = best(accuracy)
        found.append(((GRID_C[1::4] if fast else GRID_C)[c], (GRID_GAMMA[1::4] if fast else GRID_GAMMA)[g]))
    C, gamma = np.median(found, axis=0)
    return dict(C=float(C), gamma=float(gamma))


def error_of(row: str, method: str, C: float, gamma: float | np.ndarray, n: int) -> float | tuple[float, float]:
    """Mean error in percent over n halves and its deviation, or the error on the official test rows."""
    gamma = float(gamma) if np.ndim(gamma) == 0 else np.asarray(gamma)
    if has_test_rows(row):
        D = raw(row)
        X, X_test = box(D.X_train, D.X_test)
        return 100 - 100 * fitted(METHODS[method](C, gamma=gamma), X, D.y_train).score(X_test, D.y_test)
    errors = []
    for k in range(n):
        X, y, X_test, y_test = half(row, k)
        errors.append(100 - 100 * fitted(METHODS[method](C, gamma=gamma), X, y).score(X_test, y_test))
    return np.mean(errors), np.std(errors, ddof=1)


def cell(kernel: str):
    """Computation of tables IV to VII."""

    def compute(row: str, column: str, fast: bool) -> dict:
        by, method = column.split(", ")
        p = chosen_by_cv(row, method, fast) if by == "CV" else chosen(row, by, kernel, fast)
        if method == "search":
            return {"iterations": p["iterations"], "evaluations": p["evaluations"]}
        gamma = p["gamma"] if np.ndim(p["gamma"]) == 0 else np.asarray(p["gamma"]).tolist()
        few = method in ("dense", "sparse", "single") or len(raw(row).y_train) > 1000
        n = 2 if fast else 20 if few else 100
        return {
            "error [%]": error_of(row, method, p["C"], p["gamma"], n),
            "C": p["C"],
            "gamma": gamma,
        }

    return compute


def nothing(row: str, column: str, fast: bool) -> dict:
    raw(row)
    return {}


def selection_time(row: str, column: str, fast: bool, result: dict) -> dict:
    """Seconds of one model selection (table VIII)."""
    X, y, *_ = half(row, 0)
    if column != "5-fold CV":
        criterion, kernel = column.split(", ")
        return {"train [s]": timed(lambda: search(X, y, criterion, kernel))[0]}
    splits, seconds = folds(y, 5), 0.0
    for C in GRID_C[1::3]:
        for gamma in GRID_GAMMA[1::3]:
            model = SVC(C=C, gamma=gamma)
            seconds += timed(lambda model=model: [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in splits], 0.0)[0]
    return {"train [s]": 100 * seconds}


def usps(row: str, column: str, fast: bool) -> dict:
    """Table IX: the criterion on a part of the training rows, the machines on all of them."""
    by, method = column.split(", ")
    p = chosen_on_usps(by, row)
    D = load("usps")
    X, X_test = box(D.X_train, D.X_test)
    model = fitted(METHODS[method](p["C"], gamma=p["gamma"]), X, D.y_train)
    return {"error [%]": 100 - 100 * model.score(X_test, D.y_test), "C": p["C"]}


@cache
def chosen_on_usps(criterion: str, kernel: str) -> dict:
    D = load("usps")
    (X,) = box(D.X_train)
    return search(X, D.y_train, criterion, kernel, max_samples=1500, random_state=SEED).best_params_
