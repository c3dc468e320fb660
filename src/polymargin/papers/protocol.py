"""What the experiments share: scaling, folds, the methods by name, and grid searches on one distance matrix."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from ..datasets import Dataset, load
from ..fitting.resources import threads
from ..joint import JointSVC
from ..reductions.one_vs_rest import OneVsRestSVC
from ..reductions.pairwise import PairwiseSVC
from ..selection.gram_folds import GramFolds, Scored
from .exhibit import Value

Numbers = Sequence[float] | np.ndarray

SEED = 0  # of every split and draw; the papers print none


@cache
def scaled(name: str) -> Dataset:
    """The data set with every feature mapped to [-1, 1] by the range of its training rows (a constant one to 0)."""
    D = load(name)
    X, *rest = box(D.X_train, *(() if D.X_test is None else (D.X_test,)))
    return replace(D, X_train=X, X_test=rest[0] if rest else None)


def box(X: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Rows scaled to [-1, 1] by the ranges of the first argument; what is missing becomes the mean."""
    X = np.asarray(X, dtype=np.float64)
    low, high, mean = np.nanmin(X, axis=0), np.nanmax(X, axis=0), np.nanmean(X, axis=0)
    middle, half = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    return [(np.where(np.isnan(Z), mean, Z) - middle) / half for Z in (X, *others)]


def mean_and_deviation(values: Sequence[float] | np.ndarray) -> Value:
    """Of several folds or draws; a single one has no deviation."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def folds(y: np.ndarray, n: int = 10, seed: int = SEED) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds (training rows, test rows), the same for every method and parameter."""
    with warnings.catch_warnings():
        # The sets of the papers have classes with fewer rows than folds.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


METHODS: dict[str, Callable[..., Any]] = {
    "scatter": lambda **p: JointSVC("scatter", **p),
    "scatter, squared hinge": lambda **p: JointSVC("scatter", loss="squared_hinge", **p),
    "scatter, logistic": lambda **p: JointSVC("scatter", loss="logistic", **p),
    "crammer-singer": lambda **p: JointSVC("crammer-singer", intercept="none", **p),
    "kesler, linear cost": lambda **p: JointSVC("kesler", **p),
    "kesler, quadratic cost": lambda **p: JointSVC("kesler", loss="squared_hinge", **p),
    "one-vs-rest": OneVsRestSVC,
    "one-vs-one": PairwiseSVC,
}


def fitted(model: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Any:
    """The model after fit, without its warnings.

    At the far corners of the grids a solver may stall, and the model is judged all the same; the ridge of the core
    vector paper is warned about, and is what the paper prints.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "the ridge nu", UserWarning)
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)


def evaluator(
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    Cs: Numbers,
) -> Callable[[float], np.ndarray]:
    """gamma -> accuracies in percent, (C, split), of a method with the kernel exp(-gamma |x - z|^2).

    The engine of KernelSearchCV: distances are computed once, a kernel matrix serves all splits and values of C, and
    every fit starts from the solution for the last C.
    """
    used, places = np.unique(np.concatenate([np.concatenate(s) for s in splits]), return_inverse=True)
    parts = np.split(places, np.cumsum([len(part) for s in splits for part in s])[:-1])
    X, y, splits = X[used], y[used], list(zip(parts[::2], parts[1::2], strict=True))
    n_threads = threads(None)
    engine = GramFolds(METHODS[method](), X, y, np.ones(len(y)), n_threads, splits)
    rows = [[np.sort(engine.place[part]) for part in s] for s in splits]
    coded = [k for k, (train, _) in enumerate(rows) if engine.by_code(train)]

    def models(gamma: float) -> Iterator[tuple[int, int, Any, Any]]:
        """(number of C, split, fitted model, what it takes for the test rows)."""
        engine.set_gamma(gamma)
        if coded:  # reductions: all splits and values of C in one call
            trains, tests = zip(*(rows[k] for k in coded), strict=True)
            for k, scores in zip(coded, engine.code_scores(list(Cs), trains, tests, np.inf)[0], strict=True):
                yield from ((c, k, Scored(engine.classes, S), None) for c, S in enumerate(scores))
        for k in set(range(len(rows))).difference(coded):
            for c, (_, scored) in enumerate(engine.path(list(Cs), rows[k][0], n_threads)):
                yield c, k, *scored(rows[k][1])

    def evaluate(gamma: float) -> np.ndarray:
        accuracy = np.empty((len(Cs), len(rows)))
        # Corners of the grid count even if the solver stalls there, or advises another machine. The kernel matrix need
        # not be checked in every fit.
        with warnings.catch_warnings(), sklearn.config_context(assume_finite=True):
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", ".*classes overlap", UserWarning)
            for c, k, model, Z in models(gamma):
                accuracy[c, k] = 100 * np.mean(model.predict(Z) == engine.y[rows[k][1]])
        return accuracy

    return evaluate


def grid_accuracy(
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    splits: Sequence[tuple[np.ndarray, np.ndarray]],
    gammas: Numbers,
    Cs: Numbers,
) -> np.ndarray:
    """Accuracies in percent, (gamma, C, split), at every point of a grid."""
    evaluate = evaluator(method, X, y, splits, Cs)
    return np.array([evaluate(gamma) for gamma in gammas])


def coarse_to_fine(
    evaluate: Callable[[float], np.ndarray], low: float, high: float, steps: Sequence[float]
) -> tuple[float, int, np.ndarray]:
    """Search of gamma = 2^kappa: every steps[0]-th kappa from low to high, then finer around the best one.

    Returns kappa, the index of C and the accuracies of all splits there. The points lie on the grid of the finest
    step, so the result is never better than that of the whole grid.
    """
    seen: dict[float, np.ndarray] = {}

    def best_so_far() -> tuple[float, int]:
        kappa = max(sorted(seen), key=lambda k: seen[k].mean(axis=1).max().round(9))
        return kappa, int(np.argmax(seen[kappa].mean(axis=1).round(9)))

    kappas = np.arange(low, high + 1e-9, steps[0])
    for step, finer in zip(steps, [*steps[1:], None], strict=True):
        for kappa in np.round(kappas, 3):
            if kappa not in seen and low <= kappa <= high:
                seen[kappa] = evaluate(2.0**kappa)
                if len(steps) == 1 and seen[kappa].mean(axis=1).max() == 100.0:
                    break  # nothing is better, and of equals the widest kernel is taken
        if finer is not None:
            reach = int(round(step / finer)) - 1
            kappas = best_so_far()[0] + finer * np.arange(-reach, reach + 1)
    kappa, c = best_so_far()
    return float(kappa), c, seen[kappa][c]


def best(accuracy: np.ndarray) -> tuple[int, int]:
    """Where the mean over the splits is largest; of ties the first, that is, the widest kernel and the smallest C."""
    i, j = np.unravel_index(np.argmax(accuracy.mean(axis=2).round(9)), accuracy.shape[:2])
    return int(i), int(j)


def timed(
    call: Callable[..., Any], least: float = 0.05, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """(seconds of one call, its result); for short calls the shortest of several, to suppress noise."""
    seconds: list[float] = []
    while not seconds or (sum(seconds) < least and len(seconds) < 20):
        begin = clock()
        result = call()
        seconds.append(clock() - begin)
    return min(seconds), result
