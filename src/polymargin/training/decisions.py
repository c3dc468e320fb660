"""From the scores of a model to those of classes.

Every fitted machine is sparse coefficients over kernel rows with constants, f_l(x) = sum_i B[l, i] k(x_i, x) + b_l.
What the f_l stand for is its decision: prototypes have a score per class, reductions one per column of a code M in
{-1, 0, 1}, a row per class, and a rule that makes class scores of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from .pair_codes import AllPairs, dag, pair_code, votes


def decision_of(model: Any) -> Decision:
    """What the scores of a fitted machine mean."""
    return model._decision()


def winners(S: np.ndarray) -> np.ndarray:
    """The number of the class with the largest score; one score for two classes is positive for the second."""
    return (S > 0).astype(int) if S.ndim == 1 else S.argmax(axis=1)


def exp_scores(F: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Minus the logarithm of sum_l exp(-M f): in the order of the sum, and finite at any score."""
    return -np.stack([logsumexp(-F * row, axis=1) for row in M], axis=1)


def hinge_scores(F: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Minus sum_l (1 - M f)_+."""
    return -np.stack([np.maximum(1 - F * row, 0).sum(axis=1) for row in M], axis=1)


def hamming_scores(F: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Minus sum_l (1 - M sign f) / 2, plus s / (6 (|s| + 1)) with s = sum_l M f: distances differ by 1/2 at least."""
    s = F @ M.T
    return (np.where(F > 0, 1.0, -1.0) @ M.T - M.shape[1]) / 2 + s / (6 * (np.abs(s) + 1))


def raised(S: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """Where the winner does not have the largest score, it is raised above the rest."""
    row = np.arange(len(S))
    S[row, winner] = np.where(S.argmax(axis=1) == winner, S[row, winner], S.max(axis=1, initial=0.0) + 1 / 3)
    return S


# Distances of scores and rows of a code, with the sign changed.
DECODINGS = ("exp", "hinge", "hamming")
RULES: dict[str, Callable[[np.ndarray, Decision], np.ndarray]] = {
    "largest": lambda F, d: F,
    "max-wins": lambda F, d: votes(F, d.n_classes),
    "dag": lambda F, d: raised(votes(F, d.n_classes), dag(F, d.n_classes)),
    "exp": lambda F, d: exp_scores(F, d.code),
    "hinge": lambda F, d: hinge_scores(F, d.code),
    "hamming": lambda F, d: hamming_scores(F, d.code),
}


@dataclass(frozen=True)
class Decision:
    """`rule` is a name of RULES; `columns` is None, a code, or int64 pairs of classes, of which there may be many.

    Of two classes with a score each, `scale` (f_1 - f_0) is the decision value.
    """

    n_classes: int
    columns: np.ndarray | AllPairs | None = None
    rule: str = "largest"
    scale: float = 1.0

    @property
    def pairs(self) -> np.ndarray | None:
        """The classes of each pair, if the scores are those of pairs."""
        return np.asarray(self.columns) if self.columns is not None and self.columns.dtype == np.int64 else None

    @property
    def code(self) -> np.ndarray | Any:
        """M, shape (n_classes, n_scores); None for prototypes."""
        pairs = self.pairs
        return self.columns if pairs is None else pair_code(pairs, self.n_classes)

    @property
    def is_per_class(self) -> bool:
        """Whether the scores are those of classes, one each."""
        return self.columns is None or (self.rule == "largest" and np.shape(self.columns)[1] > 1)

    def class_scores(self, F: np.ndarray) -> np.ndarray:
        """Scores of the classes, (n, n_classes)."""
        if F.shape[1] == 1 and self.n_classes == 2:
            f = F[:, 0] * float(self.code[1, 0])
            return np.column_stack([-f, f])
        return RULES[self.rule](F, self)

    def __call__(self, F: np.ndarray) -> np.ndarray:
        """What `decision_function` returns: (n, n_classes), for two classes (n,)."""
        if self.n_classes > 2:
            return self.class_scores(F)
        if F.shape[1] == 1:
            return F[:, 0] * float(self.code[1, 0])
        S = self.class_scores(F)
        return (S[:, 1] - S[:, 0]) * self.scale
