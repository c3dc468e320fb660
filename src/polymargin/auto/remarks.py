"""What a careful person would point out about rows and labels before trusting a score."""

from __future__ import annotations

import contextlib
import re
import unicodedata
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .cells import Words
from .columns import ReadTable
from .rows import WeightedRows
from .task import NAMED, Task

REMARK = "Remark: "
TINY = 2  # rows of a class that cannot be both learned and tested
UNEVEN = 0.9  # share of the largest class above which accuracy says little
GROUPS = 10  # groups of rows, at least, that share a value of a column,
ROWS_OF_GROUP = 20  # with at most this many rows each on average,
PURE = 0.95  # and this share of which have one class only
AMOUNTS = 20  # whole numbers that are classes may be amounts if they are more than this many
OVERLAP_WARNING = ".*the classes overlap"  # how a machine for separable classes says that it is the wrong one


def is_remark(line: str) -> bool:
    """Whether a line of `explain_choices_` is none about a choice."""
    return line.startswith(REMARK)


def on_classes(index: np.ndarray, classes: np.ndarray, weights: Any = None) -> list[str]:
    """Classes with one or two rows; one class that has almost all rows."""
    counts = np.bincount(index, minlength=len(classes))
    said = []
    tiny = classes[counts <= TINY]
    if len(tiny):
        few = "has one or two rows" if len(tiny) == 1 else "have one or two rows each"
        said.append(f"{named(tiny)} {few}: too few to learn from and to test on; add rows, or merge classes.")
    if counts.max() > UNEVEN * len(index):
        share = 100 * counts.max() / len(index)
        said.append(
            f"{share:.1f}% of the rows are {str(classes[counts.argmax()])!r}: always predicting it would be right as "
            f"often. Look at the scores of each class{advice(weights)}."
        )
    return said + on_amounts(classes) + on_spellings(classes)


def on_amounts(classes: np.ndarray) -> list[str]:
    """Classes that look like amounts: very many whole numbers, and not all numbers between them."""
    if classes.dtype.kind not in "iu" or len(classes) <= AMOUNTS or int(classes[-1]) - int(classes[0]) < len(classes):
        return []
    return [
        f"the labels are {len(classes)} whole numbers from {classes[0]} to {classes[-1]}. If they are amounts, not "
        f"names of classes, group them into a few classes first: that 7 is nearer to 8 than to 80 is not used."
    ]


def on_score(score: float | None, rows: WeightedRows, index: np.ndarray, classes: np.ndarray) -> list[str]:
    """A cross-validated accuracy that is not above that of the largest class, always predicted."""
    shares = np.bincount(index, rows.weight, minlength=len(classes)) / rows.weight.sum()
    if score is None or score > shares.max() or shares.max() > UNEVEN:  # that uneven: said above
        return []
    return [
        f"the accuracy in cross-validation is not above that of always predicting {str(classes[shares.argmax()])!r} "
        f"({shares.max():.4f}): these columns may not tell the classes apart."
    ]


def on_spellings(classes: np.ndarray) -> list[str]:
    """Classes whose names differ in nothing that a reader would notice."""
    if classes.dtype.kind not in "OUS":
        return []
    alike: dict[str, list[str]] = {}
    for name in map(str, classes):
        alike.setdefault(" ".join(unicodedata.normalize("NFKC", name).casefold().split()), []).append(name)
    twins = [names for names in alike.values() if len(names) > 1]
    if not twins:
        return []
    shown = "; ".join(" and ".join(map(repr, names)) for names in twins[:NAMED]) + (
        "; ..." if len(twins) > NAMED else ""
    )
    return [f"some classes differ only in capital letters or blanks ({shown}): if they are the same, spell them alike."]


def on_groups(X: Any, index: np.ndarray, classes: np.ndarray) -> list[str]:
    """Columns whose values bind rows of one class together: folds that share them are easier than new rows."""
    if not isinstance(X, ReadTable):
        return []
    said, n = [], len(index)
    for column, values in zip(X.plan, X.columns, strict=True):
        if values is None or column.used_as == "date":
            continue
        codes = values.codes if isinstance(values, Words) else _codes(values)
        if codes is None or (codes < 0).any():
            continue
        used, group, size = np.unique(codes, return_inverse=True, return_counts=True)
        if len(used) < max(GROUPS, n / ROWS_OF_GROUP) or len(used) > n / 2:
            continue
        table = np.zeros((len(used), len(classes)))
        np.add.at(table, (group, index), 1)
        several = size > 1
        # Groups drawn at random are pure with the probability that all of their rows are of the largest class.
        chance = np.mean((np.bincount(index).max() / n) ** (size[several] - 1)) if several.any() else 1.0
        if several.sum() >= GROUPS and np.mean(table.max(axis=1)[several] == size[several]) >= PURE > chance + 0.2:
            said.append(
                f"rows with the same {column.name!r} have the same class ({len(used)} groups of rows). If new rows "
                f"belong to other groups, these scores are too optimistic: keep the rows of a group together in every "
                f"split (groups=, --groups)."
            )
    return said


def on_lone_groups(groups: np.ndarray | None, index: np.ndarray, classes: np.ndarray) -> list[str]:
    """Classes all of whose rows are in one of the groups that were asked for."""
    if groups is None:
        return []
    of = np.unique(np.column_stack([index, groups]), axis=0)[:, 0]  # the classes, once for each of their groups
    lone = classes[np.bincount(of, minlength=len(classes)) == 1]
    if not len(lone):
        return []
    verb = "is" if len(lone) == 1 else "are each"
    return [
        f"{named(lone)} {verb} in one group only: no fold can both learn and test such a class; add groups with it."
    ]


def _codes(values: np.ndarray) -> np.ndarray | None:
    if np.isnan(values).any() or np.any(values != np.round(values)):
        return None
    return np.unique(values, return_inverse=True)[1]


def on_predictions(
    predicted: np.ndarray, classes: np.ndarray, index: np.ndarray, counts: np.ndarray, weights: Any = None
) -> list[str]:
    """Classes that the model never predicts for some of its training rows, among those with more than two rows."""
    never = np.setdiff1d(index, np.searchsorted(classes, predicted))
    never = classes[never[counts[never] > TINY]]
    if not len(never):
        return []
    verb = "is" if len(never) == 1 else "are"
    return [f"{named(never)} {verb} never predicted, not even for training rows{advice(weights)}."]


def advice(weights: Any) -> str:
    """What to try where a class is lost beside others, after the weights of classes that were asked for."""
    if weights is None:
        return "; try class_weight='balanced' (--balanced)"
    return "" if weights == "balanced" else "; try other weights of classes (class_weight=, --weights)"


@contextlib.contextmanager
def overheard(task: Task) -> Iterator[None]:
    """The training of the machine that was chosen for a task; that it meets overlapping classes is a remark."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.filterwarnings("always", message=OVERLAP_WARNING)
        try:
            yield
        finally:
            about = [w for w in heard if re.match(OVERLAP_WARNING, str(w.message)) and task.asked.machine == "auto"]
    for told in heard:
        if told not in about:
            warnings.warn_explicit(told.message, told.category, told.filename, told.lineno)
    if about:
        task.tell(
            f"{REMARK}the classes overlap, and {task.name} does not tell overlapping classes apart; machine='pairwise' "
            f"(--machine pairwise) may be more accurate, though it takes longer with {len(task.classes)} classes."
        )


def named(classes: np.ndarray) -> str:
    shown = ", ".join(repr(str(c)) for c in classes[:NAMED]) + (", ..." if len(classes) > NAMED else "")
    return f"class {shown}" if len(classes) == 1 else f"{len(classes)} classes ({shown})"
