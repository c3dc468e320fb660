"""Probabilities from scores by one temperature.

    P = softmax(F / t)      t > 0 chosen so that rows the machine has not seen are most likely

Dividing all scores by one number changes no order, so the largest probability always belongs to the predicted class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone


def softmax(F: np.ndarray) -> np.ndarray:
    """exp(F_c) / sum of exp(F), row by row, without overflow."""
    E = np.exp(F - F.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def confidence(machine: Any, Z: Any) -> np.ndarray:
    """Scores, one column per class, whose differences say how sure the machine is; their argmax is its prediction.

    Votes do not say this: of T classes the winner has about T - 1 of them whether the row is easy or not. So for the
    votes of one-versus-one a sum over the pairs of a class takes their place, sum log 1 / (1 + exp(-2 f)), f the pair's
    value for the class: as if 2 f were the log-odds of the pair and pairs were independent. The winner of the vote is
    moved to the top.
    """
    F = machine.decision_function(Z)
    if F.ndim == 1:
        return np.column_stack([-0.5 * F, 0.5 * F])
    if not hasattr(machine, "pairs_"):
        return F
    winner = F.argmax(axis=1)
    pairs = 2 * machine.pair_decisions_(Z)
    S = np.zeros_like(F)
    for f, (a, b) in zip(pairs.T, machine.pairs_, strict=True):
        S[:, a] -= np.logaddexp(0, -f)
        S[:, b] -= np.logaddexp(0, f)
    rows = np.arange(len(S))
    S[rows, winner] = np.maximum(S[rows, winner], S.max(axis=1) + 1e-9)
    return S


def unseen(machine: Any, Z: Any, y: np.ndarray, splits: Iterable) -> tuple[np.ndarray, np.ndarray]:
    """Scores of rows that a copy of the machine was not trained on, and the numbers of their classes."""
    scores, at = [], []
    for train, test in splits:
        model = clone(machine).fit(Z[train], y[train])
        scores.append(confidence(model, Z[test]))
        at.append(np.searchsorted(machine.classes_, y[test]))
    return np.vstack(scores), np.concatenate(at)


def temperature(F: np.ndarray, at: np.ndarray) -> float:
    """The t under which the classes `at` are most likely given the scores F."""

    def loss(log_t: float) -> float:
        P = softmax(F / np.exp(log_t))[np.arange(len(at)), at]
        return -float(np.mean(np.log(np.maximum(P, 1e-300))))

    return float(np.exp(minimize_scalar(loss, bounds=(-8, 5), method="bounded").x))
