"""The evaluations of one search by cross-validation, and their table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
import sklearn
from scipy.stats import rankdata
from sklearn.base import clone

from ..fitting.callbacks import Parts
from ..fitting.progress import STOP, Shown, Stopped
from ..fitting.resources import budget, threads
from ..training.expansions import KernelExpansion
from .best_estimator import last_step
from .gram_folds import GramFolds, RowFolds, Scored

MADE = 2e8  # bytes of matrices per remaining second: certainly computed in less than half of the time
BESIDE = 1.5  # a fit holds this many times its kernel values, with factors of free variables and working sets
LEAST_ROWS = 10  # of a class on average, in the first round of halving


@dataclass(frozen=True)
class Fold:
    """A fold of the search: rows to train and to test on, of the `engine` that makes kernel values for it."""

    engine: Any
    number: int
    train: np.ndarray
    test: np.ndarray


class GridRun:
    """Evaluates points (number of C, number of gamma) of a grid on all folds.

    ``parts`` are pairs (rows, folds): all folds on the same rows, or one fold each on rows transformed for it.
    ``before`` are rows of the table of an earlier run on the same folds; what is finished there is not computed again.
    Callbacks are ``told`` after every gamma.
    """

    def __init__(
        self, told: Parts, y: np.ndarray, weight: np.ndarray, splits: list, begin: float, before: list
    ) -> None:
        search = told.estimator
        self.told, self.search, self.y, self.weight, self.splits = told, search, y, weight, splits
        self.machine = last_step(search.estimator)
        self.n_threads = threads(search.n_jobs)
        self.deadline = begin + (np.inf if search.time_limit is None else search.time_limit)
        self.ended = threading.Event()
        self.status = "solved"
        self.table: list[dict] = []
        self.before = before
        self.engines: dict[int, Any] = {}
        self.multimetric = bool(before) and getattr(search, "multimetric_", False)
        self.by_rows = repeated(splits) or own_function(search.scoring)
        self.train, self.weighted = bool(search.return_train_score), bool(np.any(weight != 1))
        self.unsolved: set[str] = set()
        self.begin, self.shown = begin, Shown("KernelSearchCV", search.verbose)

    def __enter__(self) -> GridRun:
        self.shown.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.shown.__exit__()

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def stop(self) -> bool:
        return self.ended.is_set() or time.monotonic() > self.deadline

    def halted(self) -> bool:
        """Whether to stop with work left; the status then says why."""
        if not self.stop():
            return False
        if self.status == "solved":
            self.status = "interrupted" if self.ended.is_set() else "time_limit"
        return True

    # --- strategies ---

    def halve(self, parts: list, grid: tuple, factor: float) -> None:
        """All points on few rows, the best 1/factor of them on factor times the rows, ..., the last ones on all."""
        points = [(i, j) for i in range(len(grid[0])) for j in range(len(grid[1]))]
        fewest = LEAST_ROWS * len(np.unique(self.y)) / len(self.y)
        rounds = 1 + min(ceil(log(len(points), factor)), max(0, int(log(1 / fewest, factor))))
        for k in range(rounds):
            rows = self.evaluate(parts, points, grid, share=factor ** (k + 1 - rounds), iteration=k)
            if k < rounds - 1:
                if self.halted():
                    return
                means = np.array([np.mean(self.deciding(row)) for row in rows])
                best = np.argsort(-np.nan_to_num(means, nan=-np.inf), kind="stable")
                points = [points[at] for at in sorted(best[: ceil(len(points) / factor)])]

    def refine(self, parts: list, grid: tuple) -> None:
        """About four values of each parameter, then the neighbors of the best point at half the distance."""
        order = [np.argsort(grid[0]), np.arange(len(grid[1]))]
        if all(np.ndim(g) == 0 and not isinstance(g, str) for g in grid[1]):
            order[1] = np.argsort(grid[1])
        sizes = [len(values) for values in grid]
        stride = 2 ** max(0, ceil(log(max(sizes) / 4, 2)))
        axes = [sorted({*range(0, size, stride), size - 1}) for size in sizes]
        seen: dict[tuple, float] = {}
        while True:
            new = [(a, b) for a in axes[0] for b in axes[1] if (a, b) not in seen]
            rows = self.evaluate(parts, [(int(order[0][a]), int(order[1][b])) for a, b in new], grid)
            if stride == 1 or self.halted():
                return
            seen |= {at: float(np.mean(self.deciding(row))) for at, row in zip(new, rows, strict=True)}
            stride //= 2
            best = max(seen, key=lambda at: np.nan_to_num(seen[at], nan=-np.inf))
            axes = [
                sorted({max(0, at - stride), at, min(size - 1, at + stride)})
                for at, size in zip(best, sizes, strict=True)
            ]

    def deciding(self, row: dict) -> np.ndarray:
        """The scores of the folds that decide."""
        scores, name = row["test"], self.search.refit if isinstance(self.search.refit, str) else "score"
        return scores.get(name, next(iter(scores.values()), np.array([np.nan])))

    def leader(self) -> tuple[float, dict] | None:
        """The best mean score of the points that are finished in the last round, and its row."""
        done = [(float(np.mean(self.deciding(row))), row) for row in self.table]
        done = [(mean, row) for mean, row in done if not np.isnan(mean)]
        done = [(mean, row) for mean, row in done if row["iteration"] == done[-1][1]["iteration"]]
        return max(done, key=lambda pair: pair[0], default=None)

    # --- evaluations ---

    def evaluate(
        self, parts: list, points: list, grid: tuple, share: float = 1.0, iteration: int | None = None
    ) -> list[dict]:
        """Scores of the points on all folds; `share` is the part of each training set that is used."""
        rows = [self.row(point, (grid[0][point[0]], grid[1][point[1]]), share, iteration) for point in points]
        self.table += rows
        numbers = sorted({j for _, j in points})
        for part, (Z, folds) in enumerate(parts):
            engine = self.engine(part, Z)
            for done, j in enumerate(numbers):
                path = sorted((row for row in rows if row["point"][1] == j), key=lambda row: row["values"][0])
                self.along_C(engine, folds, path, share)
                if not self.stop() and self.told("gamma"):
                    self.ended.set()
                self.show(grid[1][j], (part + (done + 1) / len(numbers)) / len(parts))
        return rows

    def along_C(self, engine: Any, folds: list[int], path: list[dict], share: float) -> None:
        """The points of one gamma, in the order of their C, on those folds that have not seen them all."""
        gamma = path[0]["values"][1]
        left = [k for k in folds if any(np.isnan(row["fit_time"][k]) for row in path)]
        path = [row for row in path if np.isnan(row["fit_time"][left]).any()]
        Cs = [row["values"][0] for row in path]
        where = {k: tuple(np.sort(engine.place[at]) for at in self.splits[k]) for k in left}
        values = {k: engine.gamma(gamma, train) for k, (train, _) in where.items()}  # "scale" differs from fold to fold
        memory, n_scores = budget(self.search.memory), len(Cs) * len(self.y) * (len(self.splits) if self.train else 1)
        for value in unique(values.values()):
            if self.halted():
                return
            engine.set_gamma(value)
            same = [k for k in left if values[k] is value or np.array_equal(values[k], value)]
            used = {k: self.training_rows(engine, where[k][0], share) for k in same}
            by_code = [k for k in same if engine.by_code(used[k], n_scores, memory)]
            if by_code:
                self.all_folds(engine, by_code, used, where, Cs, path)
            rest = [k for k in same if k not in by_code]
            self.run(lambda k, used=used: self.fold(Fold(engine, k, used[k], where[k][1]), Cs, path), rest)

    def row(self, point: tuple[int, int], values: tuple, share: float, iteration: int | None) -> dict:
        """A row of the table: empty, or with the results of an earlier run."""
        here = dict(point=point, values=values, share=share, iteration=iteration)
        for old in self.before:
            if old["share"] == share and all(map(np.array_equal, old["values"], values)):
                return old | here
        n = len(self.splits)
        return here | dict(n_resources=0, test={}, train={}, fit_time=np.full(n, np.nan), score_time=np.full(n, np.nan))

    def engine(self, part: int, Z: Any) -> Any:
        if part not in self.engines:
            # Distances and kernel values, and the kernel values that parallel fits keep in addition.
            memory, held, machine = budget(self.search.memory), 16.0 * len(self.y) ** 2, clone(self.machine)
            fits = 1.25 * held <= memory and held <= MADE * max(self.left(), 0.0) and not self.by_rows
            kind = GramFolds if fits and "kernel" in machine.get_params(deep=False) else RowFolds
            if isinstance(machine, KernelExpansion):
                left = (memory - held if kind is GramFolds else memory) / min(self.n_threads, len(self.splits))
                machine.set_params(memory=max(min(int(left / BESIDE), budget(machine.memory)), 10**6))
            self.engines.clear()  # the matrices of another part
            self.engines = {part: kind(machine, Z, self.y, self.weight, self.n_threads, self.splits)}
        return self.engines[part]

    def run(self, task: Callable, folds: list[int]) -> None:
        """The folds side by side; an error or Ctrl-C ends them all."""
        if len(folds) < self.n_threads or self.n_threads == 1:
            for k in folds:
                task(k)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            try:
                left = {pool.submit(task, k) for k in folds}
                while left:
                    # Any thread may receive the signal, and a sleeping main thread does not notice.
                    done, left = wait(left, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
            except BaseException:
                self.ended.set()
                raise

    def training_rows(self, engine: Any, train: np.ndarray, share: float) -> np.ndarray:
        if share < 1:
            train = train[np.floor(np.arange(0, len(train), 1 / share)).astype(int)]
        return train[engine.weight[train] > 0]

    def all_folds(self, engine: Any, folds: list, used: dict, where: dict, Cs: list, path: list) -> None:
        """Binary machines by code: everything but the scorer in one call."""
        test = [where[k][1] for k in folds]
        rows = [np.sort(np.concatenate([used[k], t])) for k, t in zip(folds, test, strict=True)] if self.train else test
        found, seconds, status = engine.code_scores(Cs, [used[k] for k in folds], rows, self.left())
        if status in ("interrupted", "time_limit"):
            self.status = status
            self.ended.set()
            return
        if status != "solved":
            self.unsolved.add(status)
        # Named like the machine: the error of a scorer that needs probabilities then says what has none.
        Named = type(type(engine.machine).__name__, (Scored,), {})
        for at, k in enumerate(folds):
            for number, row in enumerate(path):

                def scored(some: np.ndarray, at: int = at, number: int = number) -> tuple[Any, None]:
                    return Named(engine.classes, found[at][number][np.searchsorted(rows[at], some)]), None

                self.enter(row, Fold(engine, k, used[k], test[at]), seconds[at, number], scored)

    def fold(self, fold: Fold, Cs: list, path: list) -> None:
        """Any machine: one fold along the path of C."""
        n_threads = 1 if len(self.splits) >= self.n_threads else self.n_threads
        # The rows were checked already, and checking n^2 kernel values takes time.
        token = STOP.set(self.stop)
        try:
            with sklearn.config_context(assume_finite=True):
                fits = fold.engine.path(Cs, fold.train, n_threads)
                for row in path:
                    if self.halted():
                        return
                    seconds, scored = next(fits)
                    self.enter(row, fold, seconds, scored)
        except Stopped:
            self.halted()
        finally:
            STOP.reset(token)

    def enter(self, row: dict, fold: Fold, seconds: float, scored: Callable) -> None:
        """Times and scores of one fit."""

        def score(rows: np.ndarray) -> Any:
            weights = dict(sample_weight=fold.engine.weight[rows]) if self.weighted else {}
            return self.search.scorer_(*scored(rows), fold.engine.y[rows], **weights)

        k, begin = fold.number, time.perf_counter()
        self.note(row["test"], k, score(fold.test))
        row["score_time"][k] = time.perf_counter() - begin
        if self.train:
            self.note(row["train"], k, score(fold.train))
        row["n_resources"] = max(row["n_resources"], len(fold.train))
        row["fit_time"][k] = seconds  # comes last: the fold is finished

    def note(self, scores: dict, k: int, found: Any) -> None:
        if isinstance(found, dict):
            self.multimetric = True
        for name, value in (found if isinstance(found, dict) else {"score": found}).items():
            scores.setdefault(name, np.full(len(self.splits), np.nan))[k] = value

    def show(self, gamma: Any, done: float) -> None:
        """The current gamma and the best point so far."""
        if not self.search.verbose:
            return
        text, best = f"gamma {short(gamma)}", self.leader()
        if best:
            C, width = best[1]["values"]
            text += f"  best {best[0]:.4f} at C {C:.4g}, gamma {short(width)}"
        self.shown(text, time.monotonic() - self.begin, done)

    # --- the table ---

    def results(self, names: tuple[str, str], grid: tuple) -> dict[str, Any]:
        """`cv_results_` as GridSearchCV has it."""
        table, out = self.table, {}
        for what in ("fit_time", "score_time"):
            times = np.array([row[what] for row in table])
            out[f"mean_{what}"], out[f"std_{what}"] = times.mean(axis=1), times.std(axis=1)
        params = [{names[0]: grid[0][i], names[1]: grid[1][j]} for i, j in (row["point"] for row in table)]
        out |= parameter_columns(params)
        out["params"] = params
        if table[0]["iteration"] is not None:
            out["iter"] = np.array([row["iteration"] for row in table])
            out["n_resources"] = np.array([row["n_resources"] for row in table])
        missing = np.full(len(self.splits), np.nan)
        for kind in ("test", "train") if self.train else ("test",):
            for name in unique(name for row in table for name in row[kind]) or ["score"]:
                scores = np.array([row[kind].get(name, missing) for row in table])
                for k in range(len(self.splits)):
                    out[f"split{k}_{kind}_{name}"] = scores[:, k]
                out[f"mean_{kind}_{name}"], out[f"std_{kind}_{name}"] = scores.mean(axis=1), scores.std(axis=1)
                if kind == "test":
                    worst = np.nan_to_num(out[f"mean_{kind}_{name}"], nan=-np.inf)
                    out[f"rank_{kind}_{name}"] = rankdata(-worst, method="min").astype(np.int32)
        return out


def parameter_columns(params: list[dict]) -> dict[str, np.ma.MaskedArray]:
    """The columns `param_...` of the points of a search, as GridSearchCV has them."""
    columns = {}
    for name in sorted(params[0]):
        values = np.empty(len(params), dtype=object)
        values[:] = [p[name] for p in params]
        plain = all(isinstance(v, float) for v in values)
        columns[f"param_{name}"] = np.ma.array(values.astype(float) if plain else values)
    return columns


def short(gamma: Any) -> str:
    """A gamma in one line: a number, a name, or the range of many numbers."""
    if np.ndim(gamma):
        return f"{np.min(gamma):.3g} to {np.max(gamma):.3g}"
    return gamma if isinstance(gamma, str) else f"{gamma:.4g}"


def unique(values: Any) -> list:
    """Distinct values in order of appearance, arrays too."""
    out: list = []
    for value in values:
        if not any(value is other or np.array_equal(value, other) for other in out):
            out.append(value)
    return out


def repeated(splits: list) -> bool:
    """Whether a row occurs more than once in a training or test set, as in the bootstrap."""
    parts = (np.asarray(part) for pair in splits for part in pair)
    return any(part.dtype != bool and len(np.unique(part)) < len(part) for part in parts)


def own_function(scoring: Any) -> bool:
    """Whether a score is a user's own function of an estimator and X, which may look at more than predictions."""
    if isinstance(scoring, Mapping):
        return any(map(own_function, scoring.values()))
    return callable(scoring) and not hasattr(scoring, "_score_func")  # make_scorer sets that
