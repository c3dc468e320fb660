"""Wang, Xue and Chan (2008), "Two criteria for model selection in multiclass SVMs", section VI: tables IV to IX.

Protocol: 100 random halves of each set, features in [-1, 1] by the training half; C and gamma chosen on the first five
training halves (one search each, from C = 1, gamma = 1/(2d)), their medians used on all halves; mean test error of six
multiclass methods. DNA and Satimage: chosen on five halves of the training set, tested once on the official test set.
A search with a gamma per feature has at most the printed number of iterations of its set and criterion, rounded up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

from ..datasets import Dataset, load
from ..joint import JointSVC
from ..reductions.one_vs_rest import OneVsRestSVC
from ..reductions.output_codes import OutputCodeSVC
from ..reductions.pairwise import PairwiseSVC
from ..selection.radius_margin import RadiusMarginSearch
from ..selection.search_cv import KernelSearchCV
from .exhibit import NEAR, POINT, LeftOut, Value, pair, table
from .protocol import SEED, box, fitted, folds, mean_and_deviation, timed
from .store import recalled

CHOSEN_ON = 5  # halves to choose C and gamma on
TESTED_ON = 100  # halves
CODES = ("dense", "sparse")  # a new code for every half, and as many as this for official test rows
CODES_TESTED = 5
NAMES = {"E.coli": "ecoli", "DNA": "dna"}
SQUARED: dict[str, Any] = dict(loss="squared_hinge")
SINGLE = 1 / 4  # of C, with which the single machine of two classes is the binary one with C/2 sum xi^2
METHODS = {
    "1vs1": lambda C, **p: PairwiseSVC(C, **SQUARED, **p),
    "1vsall": lambda C, **p: OneVsRestSVC(C, **SQUARED, **p),
    "dag": lambda C, **p: PairwiseSVC(C, decision="dag", **SQUARED, **p),
    "dense": lambda C, **p: OutputCodeSVC(C, code="dense", decoding="exp", random_state=SEED, **SQUARED, **p),
    "sparse": lambda C, **p: OutputCodeSVC(C, code="sparse", decoding="exp", random_state=SEED, **SQUARED, **p),
    "single": lambda C, **p: JointSVC("kesler", C=C * SINGLE, **SQUARED, **p),
}
TABLES = {
    "spherical": ("criteria-table-4", "criteria-table-5"),
    "ellipsoidal": ("criteria-table-6", "criteria-table-7"),
}


def printed(name: str) -> str:
    """The text of a printed table."""
    return (Path(__file__).parent / "printed" / f"{name}.txt").read_text("utf-8")


# Of table VI. Iterations and evaluations of DNA and Satimage by criterion II are copies of table IV there, see rule().
EFFORT = table(printed("criteria-table-6-search"), columns=("I", "II"), measures=("iterations", "evaluations"))


CONSTANT = "Car, lug_boot constant"
LUG_BOOT = 4  # of the features of Car


@cache
def raw(row: str) -> Dataset:
    if row != CONSTANT:
        return load(NAMES.get(row, row.lower()))
    D = load("car")
    X = D.X_train.copy()
    X[:, LUG_BOOT] = 0
    return replace(D, X_train=X)


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
def searched(row: str, criterion: str, kernel: str, fast: bool, limited: bool = True) -> dict:
    """Medians of C and gamma over five training halves, the half with the smallest criterion, and the mean effort."""
    found = []
    for k in range(1 if fast else CHOSEN_ON):
        X, y, *_ = half(row, k)
        found.append(search(X, y, criterion, kernel, **(rule(row, criterion, kernel) if limited else {})))
    least = min(found, key=lambda s: s.best_criterion_)
    return dict(
        C=float(np.median([s.best_params_["C"] for s in found])),
        gamma=np.median([s.best_params_["gamma"] for s in found], axis=0).tolist(),
        least=dict(C=float(least.best_params_["C"]), gamma=np.asarray(least.best_params_["gamma"]).tolist()),
        iterations=float(np.mean([s.n_iter_ for s in found])),
        evaluations=float(np.mean([s.n_evaluations_ for s in found])),
    )


def rule(row: str, criterion: str, kernel: str) -> dict:
    """How long a search may be: with a gamma per feature one start, and the paper's number of iterations."""
    if kernel == "spherical":
        return {}
    by = "I" if has_test_rows(row) else criterion
    return dict(n_starts=1, max_iter=ceil(EFFORT[row.split(",")[0], by, "iterations"][0]))


def chosen(row: str, criterion: str, kernel: str, fast: bool) -> dict:
    """C and gamma by a criterion: those of a finished cell of the row, or of a search."""
    for key in TABLES[kernel]:
        for (name, column), result in recalled(key).items():
            if name == row and column.startswith(f"{criterion}, ") and "C" in result:
                return {name: result[name] for name in ("C", "gamma", "least") if name in result}
    return searched(row, criterion, kernel, fast)


def search(X: np.ndarray, y: np.ndarray, criterion: str, kernel: str, **run: Any) -> RadiusMarginSearch:
    estimator = PairwiseSVC(1.0, **SQUARED)
    return fitted(RadiusMarginSearch(estimator, criterion=criterion, kernel=kernel, cv=None, refit=False, **run), X, y)


GRID_C, GRID_GAMMA = 2.0 ** np.linspace(-2, 12, 30), 2.0 ** np.linspace(-10, 4, 30)


def chosen_by_cv(row: str, method: str, fast: bool) -> dict:
    """Medians of the best C and gamma of five-fold cross-validation over five training halves."""
    found, some = [], slice(1, None, 9) if fast else slice(None)
    scale = SINGLE if method == "single" else 1.0  # the search sets the machine's own C
    for k in range(1 if fast else CHOSEN_ON):
        X, y, *_ = half(row, k)
        grid: dict[str, Any] = dict(
            C=scale * GRID_C[some], gamma=GRID_GAMMA[some], strategy="coarse-to-fine", cv=folds(y, 5)
        )
        best = fitted(KernelSearchCV(METHODS[method](1.0), **grid, refit=False), X, y).best_params_
        found.append((best["C"] / scale, best["gamma"]))
    C, gamma = np.median(found, axis=0)
    return dict(C=float(C), gamma=float(gamma))


def error_of(row: str, method: str, C: float, gamma: float | np.ndarray, n: int) -> Value:
    """Mean error in percent over n halves and its deviation, or the error on the official test rows."""
    gamma = float(gamma) if np.ndim(gamma) == 0 else np.asarray(gamma)

    def error(seed: int, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, **p: Any) -> float:
        model = METHODS[method](C, gamma=gamma, **p)
        if method in CODES:
            model.set_params(random_state=seed)
        return 100 - 100 * fitted(model, X, y).score(X_test, y_test)

    if has_test_rows(row):
        D = raw(row)
        X, X_test = box(D.X_train, D.X_test)
        codes = min(n, CODES_TESTED) if method in CODES else 1
        errors = [error(seed, X, D.y_train, X_test, D.y_test) for seed in range(codes)]
        return mean_and_deviation(errors)
    # On this few rows waking threads would take longer than the fit.
    return mean_and_deviation([error(k, *half(row, k), n_jobs=1) for k in range(n)])


def halves(fast: bool) -> int:
    return 2 if fast else TESTED_ON


def cell(kernel: str) -> Callable[[str, str, bool], dict]:
    """Computation of tables IV to VII."""

    def compute(row: str, column: str, fast: bool) -> dict:
        by, method = column.split(", ")
        if method == "search":
            return searched(row, by, kernel, fast)
        p = chosen_by_cv(row, method, fast) if by == "CV" else chosen(row, by, kernel, fast)
        error = error_of(row, method, p["C"], p["gamma"], halves(fast))
        return {"error [%]": error} | {name: p[name] for name in ("C", "gamma", "least") if name in p}

    return compute


def least_cell(row: str, column: str, fast: bool) -> dict:
    """Tables VI and VII with the parameters of the half with the smallest criterion."""
    by, method = column.split(", ")
    p = chosen(row, by, "ellipsoidal", fast)["least"]
    return {"test error [%]": error_of(row, method, p["C"], p["gamma"], halves(fast)), **p}


def near(error: Value, by_cv: Value) -> bool:
    """Whether a test error is at most that of cross-validation plus its deviation, or a point where there is none."""
    return error[0] <= by_cv[0] + (POINT if by_cv[1] is None else by_cv[1]) + 1e-9


def near_cross_validation(where: dict[tuple[str, str], tuple[str, ...]]) -> Callable[[str, str, bool], dict]:
    """How many of the methods for which the printed test error is near that of cross-validation have ours near it."""

    def compute(row: str, column: str, fast: bool) -> dict:
        criterion, kernel = column.split(", ")
        cells = {place: result for key in TABLES[kernel] for place, result in recalled(key).items()}
        by_cv = {place: result for key in TABLES["spherical"] for place, result in recalled(key).items()}
        count = 0
        for method in where[row, column]:
            places = (row, f"{criterion}, {method}"), (row, f"CV, {method}")
            if places[0] not in cells or places[1] not in by_cv:
                raise LeftOut("the cells of tables 4 to 7 come first")
            count += near(pair(cells[places[0]]["error [%]"]), pair(by_cv[places[1]]["error [%]"]))
        return {NEAR: count}

    return compute


def constant_cell(row: str, column: str, fast: bool) -> dict:
    """A method on Car with one feature made constant; rows are methods here."""
    by, kernel = column.split(", ")
    p = searched(CONSTANT, by, kernel, fast)
    return {"test error [%]": error_of(CONSTANT, row, p["C"], p["gamma"], halves(fast))}


def nothing(row: str, column: str, fast: bool) -> dict:
    raw(row)
    return {}


def selection_time(row: str, column: str, fast: bool, result: dict) -> dict:
    """Seconds of one model selection (table VIII)."""
    X, y, *_ = half(row, 0)
    if column != "5-fold CV":
        criterion, kernel = column.split(", ")
        return {"train [s]": timed(lambda: search(X, y, criterion, kernel, n_jobs=1))[0]}
    splits, seconds = folds(y, 5), 0.0
    for C in GRID_C[5::10]:
        for gamma in GRID_GAMMA[5::10]:
            model = SVC(C=C, gamma=gamma)
            seconds += timed(lambda model=model: [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in splits], 0.0)[0]
    return {"train [s]": 100 * seconds}


PART = "ellipsoidal, 3,000 rows"
SEEN = {PART: 3000}  # rows of USPS that a criterion sees, where it does not see all


def usps(row: str, column: str, fast: bool) -> dict:
    """Table IX: the criterion on all training rows, or on a part of them; the machines on all."""
    by, method = column.split(", ")
    p = chosen_on_usps(by, row)
    D = load("usps")
    X, X_test = box(D.X_train, D.X_test)
    gamma = p["gamma"] if row == "spherical" else np.asarray(p["gamma"])
    model = fitted(METHODS[method](p["C"], gamma=gamma), X, D.y_train)
    measure = "test error [%]" if row == PART else "error [%]"
    return {measure: 100 - 100 * model.score(X_test, D.y_test), "C": p["C"], "gamma": p["gamma"]}


def chosen_on_usps(criterion: str, kernel: str, **run: Any) -> dict:
    """C and gamma for USPS: those of a finished cell of table IX, or of a search."""
    for (row, column), result in recalled("criteria-table-9").items():
        if row == kernel and column.startswith(f"{criterion}, ") and "gamma" in result:
            return result
    return searched_on_usps(criterion, kernel.split(",")[0], **(dict(max_samples=SEEN.get(kernel)) | run))


@cache
def searched_on_usps(criterion: str, kernel: str, **run: Any) -> dict:
    D = load("usps")
    (X,) = box(D.X_train)
    found = search(X, D.y_train, criterion, kernel, memory="4GB", random_state=SEED, **run)
    best = found.best_params_
    return dict(C=float(best["C"]), gamma=np.asarray(best["gamma"]).tolist(), evaluations=found.n_evaluations_)
