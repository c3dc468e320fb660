"""Which machine for many rows: the candidates are tried on samples, and what they need for all rows follows.

Two fits of the exact machine, on a quarter of a sample and on all of it, tell the share of support vectors and how it
grows: their number goes like n^b, and the time, that of kernel values between them and all rows, like n^(1 + b). Where
classes overlap b is 1, where few rows decide it is near 0. Core sets grow in the same way; landmarks take time like n.
Accuracies are those on rows that were held out; errors are taken to fall like 1 / sqrt(n) from the quarter to the
sample and on. The most accurate one wins, and of those that are behind it by no more than chance explains the quickest;
one that does not end within a time limit, or within ten minutes where there is none, is trained on fewer rows, and
counts as it was on the sample.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core_vectors.options import MOST_CORE
from ..fitting.progress import LONG, duration
from ..fitting.resources import budget, gram_bytes
from . import grid as grids
from .grid import sample_of
from .task import MANY_CLASSES, PATIENCE
from .tuning import LAST_ROWS, Tuning

LANDMARKS = (20_001, 100_000)  # an eighth of all rows, within these, for a trial of landmarks: as many as race there
SHORTEST = 2.0  # seconds for a fit on the sample, at least
NAMES = {"core-vector": "core vectors", "landmarks": "landmarks", "pairwise": "exact pairs"}


@dataclass
class Trial:
    """A fit on m rows: its seconds, `hits` on held-out rows, its support vectors (of the largest pair)."""

    m: int
    seconds: float
    right: np.ndarray
    support: int
    large: bool  # a core set that did not stay small, or for which there was no time
    model: Any = None


@dataclass
class Prospect:
    """What a machine will take on all rows."""

    name: str
    seconds: float
    bytes: float
    accuracy: float
    support: float
    right: np.ndarray
    power: float  # of n in its time

    def __str__(self) -> str:
        what = {"core-vector": "core vectors", "landmarks": "landmarks"}.get(self.name, "support vectors")
        seconds = f"about {duration(self.seconds)}" if np.isfinite(self.seconds) else "too long"
        return (
            f"{NAMES.get(self.name, self.name)} {seconds}, {self.bytes / 1e9:.1f} GB, accuracy {self.accuracy:.3f}, "
            f"{self.support:,.0f} {what}"
        )


class Contest:
    """The candidates for a tuned task."""

    def __init__(self, tuning: Tuning) -> None:
        self.tuning, self.task = tuning, tuning.task
        self.n = len(tuning.index)
        self.exact = self.task.name

    def run(self) -> None:
        """Set the name of the task to the best candidate, if the exact machine takes long."""
        tuning, task = self.tuning, self.task
        rows = sample_of(tuning.index, int(min(LAST_ROWS, tuning.rows_within(tuning.left() / 30))), tuning.rng)
        held = tuning.rng.permutation(len(rows)) < len(rows) // 5
        train, self.held = rows[~held], rows[held]
        quarter = train[tuning.rng.permutation(len(train)) < len(train) // 4]
        if len(np.unique(tuning.index[quarter])) < 2:
            task.tell(f"Machine: {NAMES.get(self.exact, self.exact)}, untried, because a sample has too few rows.")
            return
        few, many = (self.tried(self.exact, some) for some in (quarter, train))
        self.base, self.gain = many.m, max(float(many.right.mean() - few.right.mean()), 0.0)
        b = growth(few, many)
        found, trials = [self.prospect(self.exact, many, b)], {self.exact: many}
        if found[0].seconds > LONG:
            # A trial may take some times as long as that of the exact machine, if that is a small part of its time.
            most = max(SHORTEST, min(4 * many.seconds, 0.1 * found[0].seconds))
            others = {name: self.tried(name, self.some(name, train), most) for name in self.others()}
            found += [self.prospect(name, trial, b) for name, trial in others.items()]
            trials |= others
        if np.isfinite(tuning.deadline):
            best = chosen(found, tuning.left() / 2)
        else:
            best = chosen(found, PATIENCE)
            tuning.longest = PATIENCE if best.seconds > PATIENCE else np.inf
        task.name, tuning.power = best.name, best.power
        tuning.pace = many.m, best.seconds * (many.m / self.n) ** best.power
        task.tell(
            f"Machine: {NAMES.get(best.name, best.name)}, after fits on {few.m} and {many.m} rows. Expected for "
            f"{self.n}: {'; '.join(map(str, found))}."
        )
        before = dict(tuning.params)
        if best.name == "core-vector":
            tuning.climb()
        if tuning.params == before:
            task.spare, tuning.held = trials[best.name].model, self.held
        self.announce(best)

    def some(self, name: str, train: np.ndarray) -> np.ndarray:
        """The rows of a trial: landmarks, whose time is that of passes over the rows, need more to show it."""
        if name != "landmarks" or np.isfinite(self.tuning.deadline):
            return train
        most = int(np.clip(self.n // 8, *LANDMARKS))
        return np.setdiff1d(sample_of(self.tuning.index, most, self.tuning.rng), self.held)

    def others(self) -> tuple[str, ...]:
        """Core vectors where they are pairs: the joint ones do not see overlap."""
        return ("landmarks",) if len(self.task.classes) > MANY_CLASSES else ("core-vector", "landmarks")

    def announce(self, best: Prospect) -> None:
        """Seconds of everything: what there was, training, and a fit on a sample for the probabilities."""
        left, seconds = self.tuning.left(), min(best.seconds, self.tuning.longest)
        sampled = best.seconds * (min(LAST_ROWS, self.n) / self.n) ** best.power
        self.task.announced = time.monotonic() - self.task.began + min(seconds + sampled, left)
        self.task.training, self.task.calibration = seconds, sampled
        self.task.tell(f"Time: about {duration(self.task.announced)} in all.")

    def tried(self, name: str, rows: np.ndarray, most: float = np.inf) -> Trial:
        """A fit on some rows within some seconds."""
        tuning, task = self.tuning, self.task
        data = tuning.encoded(rows)
        begin, before, task.name = time.monotonic(), task.name, name
        try:
            machine = task.machine(**tuning.params, y=data[1], seconds=min(tuning.left() / 10, most))
            model = grids.quietly(machine.fit, *data)
        finally:
            task.name = before
        spent = time.monotonic() - begin
        right = task.rows.hits(model.predict(tuning.encoded(self.held)[0]), self.held)
        support = max(getattr(model, "core_size_path_", ())) if name == "core-vector" else len(model.support_)
        large = name == "core-vector" and model.status_ in ("large_core", "time_limit")
        return Trial(len(rows), spent, right, int(support), large, model)

    def prospect(self, name: str, trial: Trial, b: float) -> Prospect:
        """From a fit on a sample to all rows; b is that of the exact machine."""
        times = self.n / trial.m
        gain = self.gain * (np.sqrt(self.base / trial.m) - np.sqrt(self.base / self.n))
        support, power = (trial.support, 1.0) if name == "landmarks" else (trial.support * times**b, 1 + b)
        size = {"landmarks": 4.0 * self.n * support, "core-vector": 4.0 * support**2}.get(name, gram_bytes(self.n))
        seconds = trial.seconds * times**power
        if name == "landmarks" and not np.isfinite(self.task.deadline):  # they end there with what they have
            seconds = min(seconds, PATIENCE)
        if trial.large or (name == "core-vector" and support > MOST_CORE):
            seconds = np.inf
        accuracy = min(float(trial.right.mean()) + gain, 1.0)
        return Prospect(name, seconds, min(size, budget(self.task.asked.memory)), accuracy, support, trial.right, power)


def settled(tuning: Tuning, machine: Any) -> Any:
    """A trained machine; of one whose time was up, and the same on a sample, the one that is right more often."""
    task = tuning.task
    if machine.status_ != "time_limit" or task.spare is None:
        return machine
    Z = tuning.encoded(tuning.held)[0]
    sampled, stopped = (float(task.rows.hits(m.predict(Z), tuning.held).mean()) for m in (task.spare, machine))
    limit = "the time limit" if task.end() == task.deadline else "twice the announced time"
    kept, right, other = machine, stopped, sampled
    which = "the unfinished model of all"
    if sampled > stopped:
        kept, right, other = task.spare, sampled, stopped
        which = "the model from the trial on"
    task.tell(
        f"Training: stopped after {duration(machine.fit_seconds_)}, to finish within {limit}. AutoSVC keeps {which} "
        f"{kept.shape_fit_[0]} rows: of {len(tuning.held)} rows that the trial did not see, it gets {right:.1%} right "
        f'and the other model {other:.1%}. Pass machine="{task.name}" to train to the end.'
    )
    return kept


def growth(few: Trial, many: Trial) -> float:
    """b, by which support vectors grow like n^b."""
    return float(np.clip(np.log(many.support / max(few.support, 1)) / np.log(many.m / few.m), 0.0, 1.0))


def chosen(found: list[Prospect], seconds: float) -> Prospect:
    """The quickest of those that are behind the most accurate by no more than chance explains.

    A machine that does not end within a time limit is trained on fewer rows, and counts as it was on the sample: one
    that is in time but wrong would not be better for having seen all rows.
    """

    def accuracy(p: Prospect) -> float:
        return p.accuracy if p.seconds <= seconds else float(p.right.mean())

    able = [p for p in found if np.isfinite(p.seconds)] or found
    best = max(able, key=accuracy)
    n = len(best.right)
    alike = [p for p in able if accuracy(best) - accuracy(p) <= grids.root_of_changes(best.right, p.right) / n]
    return min(alike, key=lambda p: p.seconds)
