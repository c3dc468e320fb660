"""Class weights in the nu form with exact intercept, where they act as priors."""

from __future__ import annotations

from typing import Any

import numpy as np


def shares(nu: float, loss: str, y: np.ndarray, plain: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Shares of the classes in the dual's sum, where class weights alone make a class too light for an equal one.

    The rows of class c can hold the share W_c / (nu W) at most. A class that cannot hold 1/T gets all of that (a little
    less for the logistic loss, which ends before its bounds), and the others get equal parts of the rest.
    """
    W, before = np.bincount(y, weight), np.bincount(y, plain)
    most, most_before = (w / (nu * w.sum()) for w in (W, before))
    if len(W) * most.min() >= 1 - 1e-12 or len(W) * most_before.min() < 1 - 1e-12:
        return None
    most *= 0.999 if loss == "logistic" else 1.0
    light = most < 1 / len(W)
    while not light.all():
        share = np.where(light, most, (1 - most[light].sum()) / np.count_nonzero(~light))
        if not np.any(more := ~light & (share > most)):
            return share
        light |= more
    return most / most.sum()


def lower_light(solution: Any, nu: float, y: np.ndarray, weight: np.ndarray, priors: np.ndarray) -> None:
    """Choose b_c for the classes whose rows are all at their bound, where every b_c up to some number is optimal.

    They must win by a margin: b_c is at most rho below the other classes' constants. Then all are shifted so that
    sum_c pi_c b_c = 0.
    """
    room = np.bincount(y, weight) / (nu * weight.sum())
    light = priors > room * (1 - 1e-9)
    if light.all() or not light.any():
        return
    b = solution.intercept
    b = np.where(light, np.minimum(b, b[~light].min() - abs(solution.rho)), b)
    solution.intercept = b - priors @ b
    solution.rho -= priors @ b
