"""Jenssen et al. (2012), "A scatter-based prototype framework and multi-class extension of SVMs": tables 1 to 7.

Protocol (section "Experiments"): RBF kernel exp(-gamma |x - z|^2) with gamma = 2^kappa, kappa = -10, -9.8 .. 5, and
eleven C from 10^-3 to 10^3, for all methods alike; Scatter SVM without bias. Sets with test rows: the best test result
over all parameters. Others: the best mean of ten-fold cross-validation. Features in [-1, 1], MNIST rows of unit length.

Tables 2, 3 and 6 have all 836 points of that grid. Table 5 is searched coarsely first: kappa in steps of 2, then of 1
and of 0.2 around the best; large sets with the five C from 0.25 to 63. All points are points of the paper's grid, which
reports its best, so a search of a part can only make our figures worse.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..datasets import load, make_checker, make_circle
from ..fitting.scales import unit_rows
from ..joint import JointSVC
from ..selection.distances import squared_distances
from ..smoothing.kernel_density import KernelDensityNB
from . import protocol
from .exhibit import exhibits_of
from .protocol import METHODS, SEED, coarse_to_fine, evaluator, mean_and_deviation, scaled, timed
from .store import recalled

KAPPA = (-10.0, 5.0)
CS = np.logspace(-3, 3, 11)
METHOD = {"Scatter": "scatter", "OVR": "one-vs-rest", "OVO": "one-vs-one", "CS": "crammer-singer"}
LARGE = ("Segment", "Satimage", "Dna", "USPS")
# C, and the steps of kappa: coarse ones over the whole range first, finer ones around the best.
GRIDS = {
    "whole": (CS, (0.2,)),
    "searched": (CS, (2.0, 1.0, 0.2)),
    "large": (CS[4:9], (2.0, 1.0, 0.2)),
    "fast": (CS[1::4], (4.0,)),
}
exhibit = exhibits_of("scatter", "Jenssen et al. 2012, PLoS ONE 7(10) e42947, ")


def folds(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ten folds of round(n / 10) rows in random order; leftover rows are used for training only.

    The paper seems to do the same: its means are multiples of 1/210 for the 214 rows of Glass, of 1/330 for the 334 of
    table 6, and of 1/180 for the 178 of Wine.
    """
    order, size = np.random.default_rng(SEED).permutation(n), round(n / 10)
    return [(np.setdiff1d(order, test), test) for test in np.split(order, np.arange(size, n, size))[:10]]


@cache
def mnist(draw: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """2,000 rows of the digits 0 to 4, drawn from the test part of MNIST."""
    D = load("mnist")
    y = np.asarray(D.y_test, dtype=int)
    some = np.random.default_rng(SEED + draw).choice(np.flatnonzero(y < 5), 2000, replace=False)
    return unit_rows(D.X_test[some].astype(np.float64)), y[some]


@cache
def rows(name: str) -> tuple[np.ndarray, np.ndarray, list]:
    """X, y and the splits of a benchmark set (table 4): ten folds, or the official training and test rows."""
    if name == "MNIST (0-4)":
        X, y = mnist()
        return X, y, folds(len(y))
    D = scaled(name.lower())
    if D.X_test is None or name == "Vowel":
        return D.X_train, D.y_train, folds(len(D.y_train))
    n, m = len(D.y_train), len(D.y_test)
    X, y = np.concatenate([D.X_train, D.X_test]), np.concatenate([D.y_train, D.y_test])
    return X, y, [(np.arange(n), np.arange(n, n + m))]


def reduced(name: str) -> tuple[np.ndarray, np.ndarray, list]:
    """The small samples of table 6: every sixth row of MNIST (0-4), every twentieth training row of USPS."""
    X, y, splits = rows(name)
    if len(splits) > 1:
        return X[::6], y[::6], folds(len(y[::6]))
    train, test = splits[0]
    return X, y, [(train[::20], test)]


def naive_bayes(X: np.ndarray, y: np.ndarray, splits: list) -> Callable[[float], np.ndarray]:
    """gamma -> accuracies of KernelDensityNB with h^2 = 1 / (2 gamma), in the form of `evaluator`."""

    def evaluate(gamma: float) -> np.ndarray:
        model = KernelDensityNB(bandwidth=(2 * gamma) ** -0.5)
        return np.array([[100 * model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in splits]])

    return evaluate


def searched(column: str, X: np.ndarray, y: np.ndarray, splits: list, grid: str) -> dict:
    """The best accuracy over the grid, its deviation over the folds, and where it is."""
    Cs, steps = GRIDS[grid]
    evaluate = naive_bayes(X, y, splits) if column == "NB" else evaluator(METHOD[column], X, y, splits, Cs)
    kappa, c, accuracy = coarse_to_fine(evaluate, *KAPPA, steps)
    return {"accuracy [%]": mean_and_deviation(accuracy), "kappa": kappa, "C": float(Cs[c])}


def benchmark(row: str, column: str, fast: bool) -> dict:
    """Table 5."""
    X, y, splits = rows(row)
    if fast:
        splits = [(train[:: max(1, len(train) // 400)], test[:200]) for train, test in splits[:2]]
    return searched(column, X, y, splits, "fast" if fast else "large" if row in LARGE else "searched")


def small_sample(row: str, column: str, fast: bool) -> dict:
    """Table 6."""
    return searched(column, *reduced(row), "fast" if fast else "whole")


# ---- table 1: many classes -----------------------------------------------------------------------

DRAWS = {10: 20, 100: 5, 1000: 5, 10_000: 5}
TUNED = 100  # classes; with more of them, the parameters are those of so many
WIDTHS = (0.1, 1.0, 5.0)  # sigma^2
PARAMETERS = ("gamma", "nu", "C")
SPREAD, OVERLAP = 0.33, 0.125  # not printed; chosen for errors near the printed ones of Scatter SVM


def drawn(row: str, draw: int) -> tuple:
    """Training and validation rows of "circle, 100 classes"."""
    family, classes = row.split(", ")
    T = int(classes.removesuffix(" classes").replace(",", ""))
    rng = np.random.default_rng([SEED, T, draw])
    if family == "circle":
        return T, *make_circle(T, 5, SPREAD, rng), *make_circle(T, 5, SPREAD, rng)
    return T, *make_checker(T, 10, OVERLAP, rng), *make_checker(T, 10, OVERLAP, rng)


def candidates(row: str, column: str, fast: bool) -> list[dict]:
    T, _, y, *_ = drawn(row, 0)
    widths = WIDTHS[1:2] if fast else WIDTHS
    if T > TUNED:
        found = many_classes(f"{row.split(',')[0]}, 100 classes", column, fast)
        return [{k: found[k] for k in PARAMETERS if k in found}]
    if column == "Scatter":
        return [dict(gamma=1 / (2 * s), nu=nu) for s in widths for nu in (T / len(y), 0.5, 0.999)]
    return [dict(gamma=1 / (2 * s), C=C) for s in widths for C in (0.01, 0.1, 1.0, 10.0, 100.0)]


def build(column: str, parameters: dict) -> Any:
    return METHODS[METHOD[column]](**parameters, memory="4GB")


def predicted(model: Any, X: np.ndarray) -> np.ndarray:
    """Classes of the rows, a few rows at a time: 50,000 rows have 500 million scores for 10,000 classes."""
    return np.concatenate([model.predict(X[at : at + 5000]) for at in range(0, len(X), 5000)])


def long(column: str, T: int) -> bool:
    """Whether a fit takes so long that there is one draw only, timed while its error is computed."""
    return column == "OVR" and T > 1000


@cache
def many_classes(row: str, column: str, fast: bool) -> dict:
    best_errors: list[float] = []
    chosen: dict = {}
    T, tried = drawn(row, 0)[0], candidates(row, column, fast)
    if long(column, T):
        _, X, y, X_val, y_val = drawn(row, 0)
        seconds, found = timed_run(column, tried[0], X, y, X_val)
        return {"error [%]": 100 * np.mean(found != y_val), "train + test [s]": seconds, **tried[0]}
    for draw in range(1 if fast else DRAWS[T]):
        _, X, y, X_val, y_val = drawn(row, draw)
        errors = []
        for parameters in tried:
            model = build(column, parameters).fit(X, y)
            errors.append((100 * np.mean(predicted(model, X_val) != y_val), parameters))
        error, parameters = min(errors, key=lambda e: e[0])
        best_errors.append(error)
        chosen = chosen or parameters
    return {"error [%]": mean_and_deviation(best_errors), **chosen}


def timed_run(column: str, parameters: dict, X: np.ndarray, y: np.ndarray, X_val: np.ndarray) -> tuple:
    """Processor seconds of training and testing on one thread, the least of many short runs; and the classes found."""
    model = build(column, parameters).set_params(n_jobs=1)
    return timed(lambda: predicted(model.fit(X, y), X_val), 2.0, time.process_time)


def many_classes_clock(row: str, column: str, fast: bool, result: dict) -> dict:
    T, X, y, X_val, _ = drawn(row, 0)
    if long(column, T):
        return {}
    return {"train + test [s]": timed_run(column, {k: result[k] for k in PARAMETERS if k in result}, X, y, X_val)[0]}


# ---- tables 2 and 3: support vectors -------------------------------------------------------------


DIGIT_DRAWS = 5  # of rows; the figures show the models of the first


@cache
def digit_sets(name: str, fast: bool, draw: int = 0) -> tuple:
    """Training and validation rows: 1500 and 630 of USPS 0, 6, 9; 1012 and 988 of MNIST 0 to 4."""
    if name == "USPS":
        D = scaled("usps")
        pool = np.flatnonzero(np.isin(D.y_train, (0, 6, 9)))
        some = np.random.default_rng(SEED + draw).choice(pool, 2130, replace=False)
        X, y, n = D.X_train[some], np.asarray(D.y_train[some], dtype=int), 1500
    else:
        (X, y), n = mnist(draw), 1012
    ends = (200, 300) if fast else (n, len(y))
    return X, y, [(np.arange(ends[0]), np.arange(*ends))]


@cache
def validated(name: str, column: str, fast: bool, draw: int = 0) -> tuple[dict, Any]:
    """What the search found, and the model of best validation accuracy."""
    X, y, splits = digit_sets(name, fast, draw)
    found = {} if draw else recalled(f"scatter-table-{2 if name == 'USPS' else 3}").get(("all", column), {})
    if not {"kappa", "C"} <= found.keys():
        found = searched(column, X, y, splits, "fast" if fast else "whole")
    train = splits[0][0]
    return found, METHODS[METHOD[column]](C=found["C"], gamma=2.0 ** found["kappa"]).fit(X[train], y[train])


FIXED = "Scatter, kappa = 1, C = 1000"  # a narrow kernel and a large C, which validation does not choose


def sparsity_cell(name: str) -> Callable[[str, str, bool], dict]:
    """Support vectors, of a class or all, and validation accuracy of the best models of all draws."""

    def model_of(column: str, fast: bool, draw: int) -> Any:
        if column != FIXED:
            return validated(name, column, fast, draw)[1]
        X, y, [(train, _)] = digit_sets(name, fast, draw)
        return METHODS["scatter"](C=1000.0, gamma=2.0).fit(X[train], y[train])

    def compute(row: str, column: str, fast: bool) -> dict:
        counts, accuracies = [], []
        for draw in range(1 if fast else DIGIT_DRAWS):
            model, (X, y, [(_, test)]) = model_of(column, fast, draw), digit_sets(name, fast, draw)
            of_class = dict(zip(map(str, model.classes_), map(int, model.n_support_), strict=True))
            counts.append(of_class[row] if row in of_class else sum(of_class.values()))
            accuracies.append(100 * model.score(X[test], y[test]) if row == "all" else 0.0)
        result = {"support vectors": mean_and_deviation(counts)}
        if row != "all":
            return result
        chosen = {} if column == FIXED else {k: validated(name, column, fast)[0][k] for k in ("kappa", "C")}
        return result | {"accuracy [%]": mean_and_deviation(accuracies)} | chosen

    return compute


# ---- table 7: running times ----------------------------------------------------------------------

TIMED_KAPPAS = {"USPS": (-6.0,)}


def no_accuracy(row: str, column: str, fast: bool) -> dict:
    rows(row)
    return {}


def times(row: str, column: str, fast: bool, result: dict) -> dict:
    """Mean training and test seconds at C = 1000, one fold, over kernel widths spread over the grid."""
    X, y, splits = rows(row)
    train, test = splits[0]
    if fast:
        train, test = train[:200], test[:50]
    seconds = []
    for kappa in TIMED_KAPPAS.get(row, (-8.0, -4.0, 0.0, 4.0)):
        model = METHODS[METHOD[column]](C=1000.0, gamma=2.0**kappa)
        fit, _ = timed(lambda model=model: protocol.fitted(model, X[train], y[train]))
        seconds.append((fit, timed(lambda model=model: model.predict(X[test]))[0]))
    fit, predict = np.mean(seconds, axis=0)
    return {"train [s]": fit, "test [s]": predict}


# ---- the test rules of the paper's reference [8] -------------------------------------------------

RULES = ("eq. 18, no bias", "eq. 18, bias", "AD-SVM, nearest point", "AD-SVM, direction")


def ad_svm_scores(model: JointSVC, K: np.ndarray, K_support: np.ndarray, rule: str) -> np.ndarray:
    """Scores of Nanculef et al. (2009), "AD-SVMs": trained as Scatter SVM with bias, tested by the geometry of hulls.

    m_c is the point of the reduced convex hull of class c. "nearest point": two classes are divided by the hyperplane
    half-way between their points, that is, the nearest m_c wins. "direction": the largest cosine of x and m_c seen
    from the mean of all m_c. K: kernel of the rows and the support vectors; K_support: of the support vectors.
    """
    A = model.dual_coef_.toarray()
    A = A / A.sum(axis=1, keepdims=True)
    inner, gram = K @ A.T, A @ K_support @ A.T
    if rule == "AD-SVM, nearest point":
        return inner - 0.5 * np.diag(gram)
    T = len(A)
    center = np.eye(T) - 1 / T
    away = inner @ center - (gram @ center).mean(axis=0)  # <m_c - mbar, phi(x) - mbar>
    return away / np.sqrt(np.maximum(np.diag(center @ gram @ center), 1e-300))


def rules(row: str, column: str, fast: bool) -> dict:
    """The best ten-fold accuracy of a rule over nu and the kernel widths; all rules but the first have an intercept."""
    X, y, splits = rows(row)
    splits = splits[:2] if fast else splits
    smallest = min(np.unique(y[train], return_counts=True)[1].min() / len(train) for train, _ in splits)
    shares = (0.5,) if fast else (0.02, 0.05, 0.1, 0.2, 0.5, 0.9)
    nus = np.array(shares) * min(1.0, smallest * len(np.unique(y)))
    D2 = squared_distances(X)

    def evaluate(gamma: float) -> np.ndarray:
        K = np.exp(-gamma * D2)
        accuracy = np.empty((len(nus), len(splits)))
        for k, (train, test) in enumerate(splits):
            for c, nu in enumerate(nus):
                intercept = "none" if column == RULES[0] else "exact"
                model = JointSVC("scatter", nu=nu, intercept=intercept, kernel="precomputed", n_jobs=1)
                protocol.fitted(model, K[np.ix_(train, train)], y[train])
                if column in RULES[:2]:
                    found = model.predict(K[np.ix_(test, train)])
                else:
                    kept = train[model.support_]
                    scores = ad_svm_scores(model, K[np.ix_(test, kept)], K[np.ix_(kept, kept)], column)
                    found = model.classes_[np.argmax(scores, axis=1)]
                accuracy[c, k] = 100 * np.mean(found == y[test])
        return accuracy

    kappa, c, accuracy = coarse_to_fine(evaluate, *KAPPA, (4.0,) if fast else (2.0, 1.0))
    return {"accuracy [%]": mean_and_deviation(accuracy), "kappa": kappa, "nu": float(nus[c])}
