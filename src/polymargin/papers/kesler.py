"""Franc and Hlaváč (2002), "Multi-class support vector machine", section 4: table 2.

Protocol: all features in [-1, 1]; kernel exp(-|x - z|^2 / (2 sigma)) with sigma = 2^-3 .. 2^3, C = 2^0 .. 2^7; each of
the 56 pairs by ten-fold cross-validation, and the pair of smallest mean error is listed, with the mean training time
and the mean number of support vectors over the ten folds.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from .exhibit import exhibits_of, rows_of, table
from .protocol import METHODS, best, fitted, folds, grid_accuracy, mean_and_deviation, scaled, timed
from .store import recalled

exhibit = exhibits_of("kesler", "Franc and Hlaváč 2002, section 4, ")
# Number of patterns in the printed table; support vectors and times are means over the folds.
PRINTED = table(
    """
    iris    |  2.7, 0.12,  17 |  2.0, 0.22,  30 |  2.0, 0.44,  19
    wine    |  1.1, 0.2,   54 |  2.3, 0.67,  37 |  1.7, 0.40,  54
    glass   | 37.0, 14.10, 150 | 28.7, 4.06, 167 | 31.1, 1.37, 177
    thyroid |  2.3, 0.41,  35 |  2.7, 0.13,  43 |  1.8, 0.31,  66
    """,
    columns=("one-vs-rest", "kesler, linear cost", "kesler, quadratic cost"),
    measures=("error [%]", "train [s]", "support vectors"),
)
SIGMAS = 2.0 ** np.arange(3, -4, -1)  # widest kernel first
CS = 2.0 ** np.arange(8)


DRAWS = 5  # of the ten folds


def compute(row: str, column: str, fast: bool) -> dict:
    D = scaled(row)
    X, y = D.X_train, D.y_train
    sigmas, Cs = (SIGMAS[1::3], CS[::4]) if fast else (SIGMAS, CS)
    errors, counts, chosen = [], [], []
    for draw in range(1 if fast else DRAWS):
        splits = folds(y, seed=draw)
        accuracy = grid_accuracy(column, X, y, splits, 1 / (2 * sigmas), Cs)
        s, c = best(accuracy)
        errors.append(100 - accuracy[s, c])
        chosen.append(dict(sigma=sigmas[s], C=Cs[c]))
        for train, _ in splits:
            counts.append(
                sum(fitted(METHODS[column](C=Cs[c], gamma=1 / (2 * sigmas[s])), X[train], y[train]).n_support_)
            )
    return {
        "error [%]": (np.mean(errors), np.mean([e.std(ddof=1) for e in errors])),
        "support vectors": mean_and_deviation(counts),
        **chosen[0],
    }


def clock(row: str, column: str, fast: bool, result: dict) -> dict:
    D = scaled(row)
    model = METHODS[column](C=result["C"], gamma=1 / (2 * result["sigma"]))
    parts = [(D.X_train[train], D.y_train[train]) for train, _ in folds(D.y_train)[: 2 if fast else None]]
    fits = [timed(lambda part=part: model.fit(*part), clock=time.process_time)[0] for part in parts]
    return {"train [s]": np.mean(fits)}


# ---- the paper's own solvers ---------------------------------------------------------------------

OWN = {
    "M-1-SMO": ("kesler, linear cost", dict(solver="smo")),
    "M-1-KSK": ("kesler, quadratic cost", dict(solver="ksk")),
    "one-vs-rest": ("one-vs-rest", {}),
}
PATIENCE = 60.0  # seconds of one fit
TIMED = 3  # folds


def chosen(row: str, column: str, fast: bool) -> dict:
    """sigma and C of a cell of table 2."""
    found = recalled("kesler-table-2").get((row, column), {})
    found = found if "sigma" in found else compute(row, column, fast)
    return {name: found[name] for name in ("sigma", "C")}


def own_cell(row: str, column: str, fast: bool) -> dict:
    return chosen(row, OWN[column][0], fast)


def own_model(row: str, column: str, parameters: dict, tol: float = 1e-3) -> Any:
    method, how = OWN[column]
    C, gamma = parameters["C"], 1 / (2 * parameters["sigma"])
    return METHODS[method](C=C, gamma=gamma, tol=tol, time_limit=PATIENCE, **how)


def first_solved(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """The model with a `max_iter` at which it is just solved, at most an eighth above the least.

    A fit of so few rows does not end at its tolerance, but goes on until only rounding errors are left, which the
    paper's solvers do not.
    """

    def ends(steps: int) -> bool:
        fitted(model.set_params(max_iter=steps), X, y)
        return model.status_ == "solved" or model.n_iter_ < steps

    steps, least = 16, 0
    while not ends(steps):
        steps, least = 2 * steps, steps
    while model.status_ != "time_limit" and 8 * (steps - least) > steps:
        middle = (steps + least) // 2
        steps, least = (middle, least) if ends(middle) else (steps, middle)
    return model.set_params(max_iter=steps)


def own_clock(row: str, column: str, fast: bool, result: dict) -> dict:
    """Mean processor seconds of a fit; one that is stopped after PATIENCE counts with what it took till then."""
    D, model = scaled(row), own_model(row, column, result)
    parts = [train for train, _ in folds(D.y_train)[: 1 if fast else TIMED]]
    seconds, status = [], set()
    for part in parts:
        X, y = D.X_train[part], D.y_train[part]
        call = partial(fitted, first_solved(model, X, y) if OWN[column][1] else model, X, y)
        seconds.append(timed(call, clock=time.process_time)[0])
        status.add(model.status_)
    return {"train [s]": np.mean(seconds), "status": sorted(status)}


OWN_PRINTED = {
    (row, name, "train [s]"): PRINTED[row, method, "train [s]"]
    for row in rows_of(PRINTED)
    for name, (method, _) in OWN.items()
}

EXHIBITS = (
    exhibit(
        "table 2",
        "Errors, training times and support vectors on four UCI sets",
        printed=PRINTED,
        compute=compute,
        clock=clock,
        own=("kesler, linear cost", "kesler, quadratic cost"),
        reference="one-vs-rest",
        decided=(
            "Folds are stratified and shuffled, and the same for all methods; the paper does not say how its folds "
            "were drawn. The best error of one draw varies by more than half a point (iris, linear cost: 2.7 to 3.3; "
            "`python -m benchmarks.paper_checks draws`), so errors are averaged over the draws of the seeds 0 to 4. "
            "Deviations are over the folds.",
            "Among parameters with equal errors, we take the widest kernel and the smallest C.",
            "Glass has 9 attributes (the paper's table 1 prints 13) and thyroid 5 (printed 3).",
            "Support vectors are patterns, each counted once no matter how many of its multipliers are positive.",
            'Both costs are solved, and timed, with solver="auto". The paper\'s own M-1-SMO and M-1-KSK have a '
            "separate table below.",
            "All three methods are solvers of the same compiled core here; the paper's own two are Matlab code. Only "
            "the ratios to one-vs-rest are compared, and one-vs-rest has improved most since: LIBSVM's way of "
            "choosing pairs (2005) and kernel values shared by all classes came after the paper. On glass and "
            "thyroid the paper's one-vs-rest takes longer than the Kesler machine, which has T - 1 variables per row "
            "in one problem. Ours takes 1.2 and 0.6 ms of processor time at its best parameters. Every fit, even of "
            "six rows, takes 0.4 ms (AVX-512; `python -m benchmarks.paper_checks milliseconds`), so no fit of 193 "
            "rows can take the printed 0.0972 of the 1.2 ms on glass.",
        ),
    ),
    exhibit(
        "own solvers",
        "Training times of the paper's own algorithms",
        "table 2",
        printed=OWN_PRINTED,
        compute=own_cell,
        clock=own_clock,
        own=("M-1-SMO", "M-1-KSK"),
        reference="one-vs-rest",
        fast_rows=("iris", "wine"),
        decided=(
            'M-1-SMO is solver="smo" with the linear cost and M-1-KSK is solver="ksk" with the quadratic cost, at '
            f"sigma and C of table 2, on the first {TIMED} of ten folds. Fits of so few rows do not end at their "
            "tolerance here, but go on until only rounding errors are left, and so does one-vs-rest. The two solvers "
            "are limited to the steps after which they are solved, SMO to a violation of 1e-3 and KSK to a relative "
            f"gap of 1e-3. A fit that has not reached it after {PATIENCE:g} seconds is stopped and counts with the "
            "time it took. Times are processor seconds.",
            "M-1-KSK does not reach that gap on glass within its 60 seconds, 15.5 of them processor time on a busy "
            "machine, so its ratio is a lower bound. All other fits are solved.",
            "We disagree with the paper on the times of its solvers: there, they take 0.1 to 3.7 times as long as "
            "one-vs-rest, while here they take 5 to 4,900 times as long. The paper does not say at which accuracy "
            "its solvers stop, and this explains a part: at a tolerance of 0.1, M-1-SMO takes 1.5 to 81 and M-1-KSK "
            "2.9 to 101 times as long (AVX-512, one fold; `python -m benchmarks.paper_checks accuracies`), on wine "
            "about as long as printed. One-vs-rest here uses the second-order choice of pairs (2005), which the paper "
            "did not have.",
        ),
    ),
)
