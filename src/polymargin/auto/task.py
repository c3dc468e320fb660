"""What AutoSVC works on: the table, what was asked for, the time that is left, and what was chosen, in words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core_vectors.classifier import CoreVectorSVC
from ..fitting.progress import say
from ..joint import JointSVC
from ..kernels import HAS_GAMMA
from ..landmarks import LandmarkSVC
from ..reductions import OneVsRestSVC, PairwiseSVC
from .rows import WeightedRows

MANY_CLASSES = 100  # above this, one-versus-one has too many pairs to be worth its small gain
PATIENCE = 600.0  # seconds that training may take without a time limit
NAMED = 5  # classes that a sentence names
SOON = 10.0  # seconds beyond the announced time that are always allowed: a busy machine cannot be predicted
SEEDS = 2**32  # as many as NumPy's older generators take
MANY_ROWS = 10_000  # above this, machines are tried on samples first, and times are told
REDUCTIONS = {
    "pairwise": PairwiseSVC, "one-vs-rest": OneVsRestSVC, "core-vector": CoreVectorSVC, "landmarks": LandmarkSVC,
}  # fmt: skip


def particulars(name: str, n_classes: int, seed: int | None) -> dict[str, Any]:
    """Parameters that a machine has beyond those of all."""
    found: dict[str, Any] = {"random_state": seed} if name in ("core-vector", "landmarks") else {}
    if name == "core-vector":  # pairs of classes, where they are not too many, are more accurate
        found["scheme"] = "joint" if n_classes > MANY_CLASSES else "pairwise"
    return found


def machine_named(name: str, **parameters: Any) -> Any:
    """The estimator of a name: one of REDUCTIONS, or a machine of JointSVC."""
    return REDUCTIONS[name](**parameters) if name in REDUCTIONS else JointSVC(name, **parameters)


@dataclass
class Task:
    """Rows whose labels have the numbers `index` among `classes`; `asked` has the parameters of AutoSVC.

    `choices` are sentences, one for every choice; `rng` draws samples; `began` and `deadline` are times of
    `time.monotonic`; `announced`, `training` and `calibration` are seconds that everything, the last fit and what
    follows it will take, if known. `spare` is the chosen machine as it was tried on a sample.
    """

    asked: Any
    rows: WeightedRows
    index: np.ndarray
    classes: np.ndarray
    deadline: float
    name: str = ""
    choices: list[str] = field(default_factory=list)
    announced: float | None = None
    training: float = np.inf
    calibration: float = 0.0
    spare: Any = None
    began: float = field(init=False)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        self.rng = np.random.default_rng(self.asked.random_state)
        self.name = self.choose_machine()

    def left(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)

    def last_seconds(self) -> float:
        """For the last fit: its part of what is left of twice the announced time.

        Landmarks, whose number keeps growing, get no more than twice the expected time.
        """
        if self.announced is None:
            return self.left()
        most = (self.end() - time.monotonic()) * (self.training or 1.0) / (self.training + self.calibration or 1.0)
        if self.name == "landmarks":
            most = min(most, max(2 * self.training, 30.0))
            most = most if np.isfinite(self.deadline) else min(most, PATIENCE)
        return most

    def end(self) -> float:
        """When everything ends at the latest: after twice the time that was announced, or that and `SOON`."""
        if self.announced is None:
            return self.deadline
        return min(self.deadline, self.began + self.announced + max(self.announced, SOON))

    def tell(self, line: str) -> None:
        self.choices.append(line)
        say(f"AutoSVC: {line}", self.asked.verbose)

    def choose_machine(self) -> str:
        n, T = len(self.index), len(self.classes)
        if self.asked.machine != "auto":
            self.tell(f"Machine: {self.asked.machine}, as asked.")
            return self.asked.machine
        if n > MANY_ROWS:  # the contest gives a better estimate
            return "scatter" if T > MANY_CLASSES else "pairwise"
        if T > MANY_CLASSES:
            self.tell(
                f"Machine: scatter, because {T} classes are more than {MANY_CLASSES}: its cost does not grow with them."
            )
            return "scatter"
        if T == 2:
            self.tell("Machine: one-versus-one, which is the ordinary SVM for two classes.")
            return "pairwise"
        pairs = T * (T - 1) // 2
        self.tell(f"Machine: one-versus-one, because {pairs} pairs of classes and {n} rows are few enough for it.")
        return "pairwise"

    def tell_asked(self) -> None:
        """What else was asked for; scaling, C and gamma are told where they are chosen."""
        kernel, weight, groups = self.asked.kernel, self.asked.class_weight, self.rows.groups
        if kernel != "rbf":
            unused = (
                "" if kernel in HAS_GAMMA or self.asked.gamma == "auto" else "; it has no gamma, so that is not used"
            )
            self.tell(f"Kernel: {kernel}, as asked{unused}.")
        if isinstance(weight, Mapping):
            factors = [f"{str(c)!r} by {factor:g}" for c, factor in weight.items()]
            more = ", ..." if len(factors) > NAMED else ""
            self.tell(f"Weights: rows of class {', '.join(factors[:NAMED])}{more}, as asked.")
        elif weight is not None:
            self.tell("Weights: the same total for every class, as asked.")
        if groups is not None:
            self.tell(
                f"Groups: rows of one group stay together in every fold; there are {len(np.unique(groups))} groups."
            )

    def machine(self, C: float, gamma: Any, y: np.ndarray, seconds: float, verbose: int = 0) -> Any:
        """The machine for rows with the labels y, within this many seconds."""
        asked, weight = self.asked, self.asked.class_weight
        if isinstance(weight, Mapping) and len(np.unique(y)) < len(self.classes):  # a sample without some classes
            weight = {c: weight[c] for c in np.unique(y).tolist() if c in weight}
        run = dict(
            class_weight=weight, memory=asked.memory, n_jobs=asked.n_jobs, verbose=verbose,
            time_limit=None if np.isinf(seconds) else max(seconds, 0.1),
        )  # fmt: skip
        run |= particulars(self.name, len(self.classes), asked.random_state)
        return machine_named(self.name, C=C, gamma=gamma, kernel=asked.kernel, **run)
