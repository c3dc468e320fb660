"""Probabilities from scores, by one or two numbers that are fitted on rows that the machine has not seen.

    P = softmax(S)      S_c = F_c / t                                                            one score per class
                        S_c = -ln(1 + sum_j exp(-f_cj / t)) - w sum_j ln(1 + exp(-2 f_cj))       one-versus-one

f_cj is the value of the pair (c, j) for class c. If f_cj / t are the log-odds of the two classes, the first term alone
gives the probabilities with these odds, as 1 / P_c = 1 + sum_j P_j / P_c [1]: what counts is the pair that a class is
closest to losing. Where classes overlap, the other pairs are informative as well, and w weighs them. Votes are not:
of T classes the winner has about T - 1 votes whether the row is easy or not.

[1] D. Price, S. Knerr, L. Personnaz and G. Dreyfus, "Pairwise neural network classifiers with probabilistic outputs",
NIPS 7, 1994.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from ..core_vectors.classifier import CoreVectorSVC
from ..training.decisions import decision_of
from ..training.expansions import raw_scores

MOST_ODDS = 30.0  # log-odds of a pair beyond which larger ones make no difference
LARGEST = 1e150
LOG_T, LOG_W = (-8.0, 5.0), (-12.0, 3.0)
START = (np.log(0.2), np.log(0.1))


def decided(machine: Any, Z: Any) -> tuple[np.ndarray, np.ndarray]:
    """The values that probabilities come from, of pairs (with three classes or more) or classes, and the winners."""
    F = machine.decision_function(Z)
    if F.ndim == 1:
        return np.column_stack([-0.5 * F, 0.5 * F]), (F > 0).astype(int)
    return raw_scores(machine, Z) if by_pairs(machine) else F, F.argmax(axis=1)


def by_pairs(machine: Any) -> bool:
    return decision_of(machine).pairs is not None and len(machine.classes_) > 2


def margins(machine: Any) -> np.ndarray:
    """The units of the values, one for all or one per pair.

    Core vectors have coefficients that sum to 1 and a margin rho that shrinks with more rows. In every pair
    rho = y_i f(x_i) + alpha_i / C for all i with alpha_i > 0; it is read off those with the largest alpha.
    """
    if not isinstance(machine, CoreVectorSVC):
        return np.ones(1)
    if not by_pairs(machine):
        return np.array([max(machine.rho_, 1e-12)])
    rho, B = np.empty(len(machine.pairs_)), machine.dual_coef_
    for k in range(len(rho)):
        own = np.argsort(-np.abs(B[k]))[:50]
        own = own[B[k, own] != 0]
        f = raw_scores(machine, machine.support_vectors_[own])[:, k] if len(own) else np.zeros(1)
        rho[k] = np.median(np.sign(B[k, own]) * f + np.abs(B[k, own]) / machine.C) if len(own) else 1.0
    return np.maximum(rho, 1e-12)


@np.errstate(over="ignore")
def probabilities(machine: Any, Z: Any, unit: np.ndarray, t: float, w: float) -> np.ndarray:
    """P of the rows Z; the winner of the vote is moved to the top where the sums favor another class."""
    F, winner = decided(machine, Z)
    F = bounded(F / unit)
    if not by_pairs(machine):
        return softmax(bounded(F / t), axis=1)
    code = decision_of(machine).code
    S, rows = bounded(closest(F, code, t) + w * evidence(F, code)), np.arange(len(F))
    S[rows, winner] = np.maximum(S[rows, winner], S.max(axis=1) + 1e-9)
    return softmax(S, axis=1)


def bounded(S: np.ndarray) -> np.ndarray:
    """Numbers whose sums and differences are finite; a file can hold coefficients of any size."""
    return np.clip(S, -LARGEST, LARGEST)


def closest(f: np.ndarray, code: np.ndarray, t: float) -> np.ndarray:
    """-ln(1 + sum_j exp(-f_cj / t)), one column per class; `code` has 1 and -1 for the classes of a pair."""
    E = np.exp(np.clip(f / t, -MOST_ODDS, MOST_ODDS))
    return -np.log1p((1 / E) @ (code == 1.0).T + E @ (code == -1.0).T)


def evidence(f: np.ndarray, code: np.ndarray) -> np.ndarray:
    """-sum_j ln(1 + exp(-2 f_cj)), one column per class."""
    return -np.logaddexp(0, -2 * f) @ (code == 1.0).T - np.logaddexp(0, 2 * f) @ (code == -1.0).T


def unseen(
    machine: Any, data: tuple[Any, np.ndarray, np.ndarray], splits: Iterable, deadline: float = np.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Values of rows that a copy of the machine was not trained on, which rows these are, and the pairs' code.

    The data are rows, labels and weights; every training part has all classes.

    The values are in units of the copy's margins. After the deadline no further copy is trained.
    """
    Z, y, weight = data
    values: list[np.ndarray] = []
    at: list[np.ndarray] = []
    model: Any = None
    for train, test in splits:
        left = deadline - time.monotonic()
        if values and left <= 0:
            break
        limit = None if np.isinf(left) else max(left, 0.1)
        model = clone(machine).set_params(time_limit=limit).fit(Z[train], y[train], sample_weight=weight[train])
        values.append(decided(model, Z[test])[0] / margins(model))
        at.append(test)
    code = decision_of(model).code if by_pairs(model) else None
    return np.vstack(values), np.concatenate(at), code


def fitted(F: np.ndarray, at: np.ndarray, code: np.ndarray | None, weight: Any = None) -> tuple[float, float]:
    """t and w under which the classes `at` are most likely given the values F.

    One of n + 2 labels is assumed wrong, as in Platt's method: n correct rows do not prove certainty. Rows count as
    often as their weights say; weights that sum to less than the rows are shares.
    """
    T = F.shape[1] if code is None else len(code)
    weight = np.ones(len(at)) if weight is None else weight
    wrong = 1 / (max(weight.sum(), len(at)) + 2)
    target = np.full((len(at), T), wrong / (T - 1))
    target[np.arange(len(at)), at] = 1 - wrong
    all_pairs = None if code is None else evidence(F, code)

    def loss(v: np.ndarray) -> float:
        t = np.exp(v[0])
        S = F / t if code is None else closest(F, code, t) + np.exp(v[1]) * all_pairs
        return -float(np.average(np.sum(target * log_softmax(S, axis=1), axis=1), weights=weight))

    k = 1 if code is None else 2
    how: Any = dict(xatol=0.02, fatol=1e-6, maxfev=50 * k)
    found = np.exp(minimize(loss, START[:k], method="Nelder-Mead", bounds=(LOG_T, LOG_W)[:k], options=how).x)
    return float(found[0]), float(found[1]) if k == 2 else 0.0
