"""One way in: a formulation and examples to a solution, whichever kind of machine it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..fitting.examples import Examples
from ..fitting.limits import Limits
from . import dual, few_points, margins, priors
from .equal_rows import merged
from .problem import Formulation, Solution


def solve(
    f: Formulation, e: Examples, limits: Limits, start: np.ndarray | None = None, plain: np.ndarray | None = None
) -> Solution:
    """Train; `start` are the coefficients to begin with, `plain` the weights of the rows before those of the classes.

    Equal rows are trained as one, except by the solvers of paper 2, which are there to be compared.
    """
    one = merged(e) if f.solver == "auto" else None
    if one is None:
        return solve_rows(f, e, limits, start, plain)
    if (exact := few_points.solve(f, one, limits)) is not None:
        return exact
    start, plain = (None if v is None else one.sums(v) for v in (start, plain))
    return one.solution(solve_rows(f, one.examples, limits, start, plain))


def solve_rows(
    f: Formulation, e: Examples, limits: Limits, start: np.ndarray | None, plain: np.ndarray | None
) -> Solution:
    """The same, row by row.

    Weights of classes act as priors where the nu form with an exact intercept would have no point otherwise.
    """
    if f.machine.margins:
        return margins.solve(f, e, limits, start)
    shares = None
    if f.priors is None and f.intercept == "exact" and f.nu is not None and f.loss != "squared_hinge":
        shares = priors.shares(f.nu, f.loss, e.y, e.weight if plain is None else plain, e.weight)
    solution = dual.solve(f if shares is None else replace(f, priors=shares), e, limits, start)
    if shares is not None and f.nu is not None and f.loss == "hinge":
        priors.lower_light(solution, f.nu, e.y, e.weight, shares)
    return solution
