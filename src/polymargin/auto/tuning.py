"""How AutoSVC chooses the scaling, C and gamma: on few rows first, then near the best point on more and more rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..files.readers import counted
from ..fitting.progress import LONG, duration, say
from ..kernels import HAS_GAMMA
from ..landmarks import LandmarkSVC
from ..reductions.pairwise import PairwiseSVC
from . import grid as grids
from .grid import sample_of, take
from .tables import ColumnEncoder
from .task import MANY_ROWS, SEEDS, Task

FIRST_ROWS = 1000  # the scaling and the region of C and gamma are chosen on this many, or on all of up to twice as many
TUNING_ROWS = 8000  # their neighbors on this many
LAST_ROWS = 20_000  # and finally the neighbors of the best on this many
PROBE_ROWS = 200  # one fit on this many tells how many a time limit allows
NEIGHBORS_TRIED = 6  # usually tried there; where machines are chosen by their time ...
CLIMB = 60.0  # ... no new one begins after twice the time of these, and after this many seconds


class Tuning:
    """The choices so far for a task: `encoder`, `params`, `score`."""

    def __init__(self, task: Task) -> None:
        self.task, self.X, self.y, self.index, asked = task, task.rows.X, task.rows.y, task.index, task.asked
        self.cv, self.seed, self.verbose, self.rng, self.tell = (
            asked.cv, asked.random_state, asked.verbose, task.rng, task.tell,
        )  # fmt: skip
        self.sample = sample_of(self.index, TUNING_ROWS, self.rng)
        self.encoder = self.scaled_by("column" if asked.scaling == "auto" else asked.scaling)
        d = max(self.encoder.transform(take(self.X, [0])).shape[1], 1)
        self.asked = C, gamma = asked.C, asked.gamma
        self.params: dict[str, Any] = {
            "C": 10.0 if C == "auto" else float(C),
            "gamma": 1.0 / d if gamma in ("auto", "scale") else float(gamma),
        }
        self.score: float | None = None
        self.cuts, self.folds = 1, 0  # how often the rows were cut into folds for it, and into how many
        self.pace: tuple[int, float] | None = None  # (rows, seconds) of a fit
        self.power = 2.0  # of the rows in its time
        self.held = self.sample[:0]  # rows that no trial of a machine has seen
        self.longest = np.inf  # seconds that the last fit may take, on fewer rows if necessary

    @property
    def deadline(self) -> float:
        return self.task.deadline

    def left(self) -> float:
        return self.task.left()

    def rows_within(self, seconds: float) -> float:
        """How many rows can be trained on in this many seconds, if time grows with a power of them."""
        if np.isinf(seconds) or self.pace is None:
            return np.inf
        return self.pace[0] * (seconds / max(self.pace[1], 1e-3)) ** (1 / self.power)

    def run(self) -> None:
        first = self.some(self.first_rows())
        if len(np.unique(self.index[first])) < 2:
            self.tell(f"{self.point()}: not tuned, because no two classes have two rows each to tune with.")
            return
        if self.task.rows.folds(first, self.cv, self.seed).of(None, self.y[first]) == []:
            self.tell(f"{self.point()}: not tuned, because no split of the groups leaves two classes to train on.")
            return
        found = self.scaled(first)
        if found is None:
            self.tell(f"{self.point()}: not tuned, because there was no time.")
            return
        rows = self.neighbors(first, found)
        times = f"{self.cuts} x " if self.cuts > 1 else ""
        how = "the best of the grid" if max(map(len, self.grid())) > 1 else "as asked"
        folds = counted(self.folds, "fold")
        self.tell(
            f"{self.point()}: {how}, {self.task.rows.measure} {self.score:.4f} in {times}{folds} of {len(rows)} rows."
        )
        if len(rows) == len(self.sample) < len(self.index) and max(map(len, self.grid())) > 1:
            self.climb()

    def point(self) -> str:
        """C and gamma, and which of them were asked for if one was and the other was not."""
        used = ("C", "gamma") if self.task.asked.kernel in HAS_GAMMA else ("C",)
        asked = [name for name, v in zip(used, self.asked, strict=False) if v not in ("auto", "scale")]
        words = " and ".join(f"{name} = {self.params[name]:.4g}" for name in used)
        return words + (f" ({asked[0]} as asked)" if len(asked) < len(used) and asked else "")

    # --- samples ---

    def first_rows(self) -> int:
        """As many as the rule says, or as a time limit allows: a search does hundreds of fits that share work."""
        n = len(self.sample)
        few = FIRST_ROWS if n > 2 * FIRST_ROWS else n
        if np.isfinite(self.deadline):
            rows = self.some(PROBE_ROWS)
            if len(np.unique(self.index[rows])) > 1:
                self.fit(rows, self.params)
                few = int(min(few, max(PROBE_ROWS, self.rows_within(self.left() / 200))))
        return few

    def some(self, most: int) -> np.ndarray:
        """At most this many rows of the sample, without classes that have one row."""
        some = self.sample
        if len(some) > most:
            some = some[np.sort(self.rng.permutation(len(some))[:most])]
        return some[np.bincount(self.index[some])[self.index[some]] >= 2]

    def scaled_by(self, scaling: str) -> ColumnEncoder:
        return ColumnEncoder(scaling).fit(self.X, sample_weight=self.task.rows.weight)

    def encoded(self, rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
        """What a machine is fitted to: numbers, labels and weights."""
        return self.encoder.transform(take(self.X, rows)), self.y[rows], self.task.rows.weight[rows]

    def fit(self, rows: np.ndarray, params: dict) -> Any:
        data = self.encoded(rows)
        begin = time.monotonic()
        model = grids.quietly(self.task.machine(**params, y=data[1], seconds=self.left() / 3).fit, *data)
        self.pace = len(rows), time.monotonic() - begin
        return model

    # --- the grid ---

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        C, gamma, d = *self.asked, len(self.encoder.get_feature_names_out())
        gamma = gamma if self.task.asked.kernel in HAS_GAMMA else 1.0
        C = grids.PATTERN_C if C == "auto" else np.array([float(C)])
        return C, grids.PATTERN_GAMMA / max(d, 1) if gamma in ("auto", "scale") else np.array([float(gamma)])

    def pairs(self, rows: np.ndarray) -> int:
        """How many machines one-versus-one trains on some rows; others have no such number."""
        n_classes = len(np.unique(self.index[rows])) if self.task.name == "pairwise" else 1
        return n_classes * (n_classes - 1) // 2

    def search(
        self, rows: np.ndarray, C: np.ndarray, gamma: np.ndarray, seconds: float, seed: Any, times: int = 1
    ) -> Any:
        """Cross-validation, or None if the time was too short for one point.

        Where there are points to choose from, machines that approximate others stand back for those.
        """
        Z, y, _ = self.encoded(rows)
        machine = self.task.machine(1.0, 1.0, y=y, seconds=np.inf).set_params(class_weight=None)
        if max(len(C), len(gamma)) > 1:
            pairs = getattr(machine, "scheme", None) == "pairwise"  # core vectors: the same but for a bias, and faster
            machine = exact_like(machine, "squared_hinge" if pairs else "hinge")
        folds = self.task.rows.folds(rows, self.cv, seed, times)
        weight = self.task.rows.in_scores(rows)  # of classes as well: scores know none but those of rows
        return grids.Grid(C, gamma, folds, seconds, self.verbose).search(machine, Z, y, weight)

    def keep(self, found: Any) -> None:
        self.params = grids.steadiest(found.cv_results_)
        self.score, self.folds = float(found.best_score_), found.n_splits_

    def scaled(self, rows: np.ndarray) -> Any:
        """The scaling, with the whole grid for each of the two."""
        tried, begin, why = {}, time.monotonic(), ""
        asked, pairs = self.task.asked.scaling, self.pairs(rows)
        C, gamma = self.grid()
        C = grids.fewer(C, len(rows), pairs)
        for scaling in ("column", "common") if asked == "auto" else (asked,):
            self.encoder = self.scaled_by(scaling)
            found = self.search(rows, C, gamma, self.left() / 3, self.seed)
            if found is not None:
                tried[scaling] = found, self.encoder
            if scaling == "column" and (why := only_scaling(self.X, self.encoder.scale_)):
                break
            if time.monotonic() - begin > 0.25 * (self.deadline - begin):
                break
        if not tried:
            self.encoder = self.scaled_by("column" if asked == "auto" else asked)
            return None
        scaling, reason = grids.choose_scaling(
            {name: found for name, (found, _) in tried.items()}, len(rows), self.task.rows.counted(rows)
        )
        found, self.encoder = tried[scaling]
        self.tell(f"Scaling: {f'{asked}, as asked' if asked != 'auto' else why or reason}.")
        self.keep(found)
        more_follow = len(rows) <= 0.9 * len(self.sample)
        times = 1 if more_follow else grids.repeats(len(rows), pairs)
        times = times if self.task.rows.groups is None and self.task.rows.splits is None else 1
        if times > 1 and max(len(C), len(gamma)) > 1:
            seed = None if self.seed is None else (self.seed + 1) % SEEDS
            again = self.search(rows, C, gamma, self.left() / 3, seed, times - 1)
            if again is not None and again.status_ == found.status_ == "solved":
                both = (found.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])
                found.cv_results_["mean_test_score"] = np.average(both, axis=0, weights=(1, times - 1))
                found.best_score_ = found.cv_results_["mean_test_score"].max()
                found.search_seconds_ += again.search_seconds_
                self.keep(found)
                self.cuts = times
        return found

    def neighbors(self, rows: np.ndarray, found: Any) -> np.ndarray:
        """The points around the best on more rows, as many as the time allows; returns the rows."""
        room = 0.5 * self.left() if np.isfinite(self.deadline) else np.inf
        more = int(min(len(self.sample), len(rows) * np.sqrt(room / max(found.search_seconds_, 1e-3))))
        C, gamma = (grids.around(v, self.params[k], 2) for k, v in zip(("C", "gamma"), self.grid(), strict=True))
        nothing_to_choose = np.isfinite(room) and max(len(C), len(gamma)) == 1
        if more <= 1.5 * len(rows) or nothing_to_choose:
            return rows
        share = len(C) * len(gamma) / len(found.cv_results_["params"])
        self.announce(f"tuning on {more} rows", found.search_seconds_ * share * (more / len(rows)) ** 2)
        larger = self.some(more)
        better = self.search(larger, C, gamma, room, self.seed)
        if better is None:
            return rows
        self.keep(better)
        self.cuts = 1
        n_fits = np.isfinite(better.cv_results_["mean_test_score"]).sum() * better.n_splits_
        self.pace = len(larger), better.search_seconds_ / max(n_fits, 1)
        return larger

    def climb(self) -> None:
        """Try neighbors on a fifth of many rows, trained on the others: with more rows a larger gamma is better."""
        rows = sample_of(self.index, int(min(LAST_ROWS, self.rows_within(self.left() / 15))), self.rng)
        held = self.task.rows.held_out(rows, self.seed, self.rng)
        train, test = self.encoded(rows[~held]), self.encoded(rows[held])[0]
        end = time.monotonic() + self.left() / 3

        def right(C: float, gamma: float) -> np.ndarray | None:
            """Which held-out rows are classified correctly, until the time is up."""
            nonlocal end
            begin = time.monotonic()
            slowest = 0.0 if self.pace is None or self.pace[0] != len(train[1]) else self.pace[1]
            if begin + slowest > end:
                return None
            machine = exact_like(self.task.machine(C, gamma, y=train[1], seconds=end - begin))
            model = grids.quietly(machine.fit, *train)
            found = self.task.rows.hits(model.predict(test), rows[held])
            spent = time.monotonic() - begin
            if not slowest:
                self.announce(f"tuning on {len(rows)} rows", NEIGHBORS_TRIED * spent)
                if len(self.index) > MANY_ROWS:
                    end = min(end, begin + max(2 * NEIGHBORS_TRIED * spent, CLIMB))
            self.pace = len(train[1]), max(slowest, spent)
            return found

        (C, gamma), score, tried = grids.climb(right, *self.grid(), (self.params["C"], self.params["gamma"]))
        if tried:
            self.params, self.score = {"C": C, "gamma": gamma}, score
            self.tell(
                f"C = {C:.4g} and gamma = {gamma:.4g}: the best of {tried} neighbors, {self.task.rows.measure} "
                f"{score:.4f} on "
                f"{held.sum()} rows held out of {len(rows)}."
            )

    def announce(self, what: str, seconds: float) -> None:
        if seconds > LONG:
            say(f"polymargin: AutoSVC is {what}, about {duration(seconds)}; time_limit= bounds it", self.verbose)


def only_scaling(X: Any, scale: np.ndarray) -> str:
    """Why there is nothing to choose about the scales of columns, if there is not."""
    if sp.issparse(X):
        return "every column by its largest value, so that zeros stay zeros"
    if len(scale) < 2:
        return (
            "the one column of numbers by its standard deviation" if len(scale) else "none, for no column has numbers"
        )
    return "one factor for all columns, which are equally wide" if np.allclose(scale, scale[:1]) else ""


def exact_like(machine: Any, loss: str = "hinge") -> Any:
    """Exact pairs in place of landmarks, whose number would be searched for at every point of the grid."""
    if loss == "hinge" and not isinstance(machine, LandmarkSVC):
        return machine
    run = {k: getattr(machine, k) for k in ("C", "gamma", "kernel", "class_weight", "memory", "n_jobs", "time_limit")}
    return PairwiseSVC(loss=loss, **run)
