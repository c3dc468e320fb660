"""What surrounds every solver: a clock and a progress bar before it, the ways a fit can end after it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..kernels import indefinite_advice
from .callbacks import CALLER
from .limits import Limits, seed_of
from .progress import Progress
from .state import keep

# By status, for the warning of a fit that was not solved.
WHAT_TO_DO = {
    "max_iter": "raise max_iter, center and scale the columns of X (StandardScaler), lower C or accept a larger tol; "
    "warm_start=True continues from here",
    "time_limit": "raise time_limit, give more memory or threads, or accept a larger tol; "
    "warm_start=True continues from here",
    "stalled": "rounding leaves nothing to gain: center and scale the columns of X (StandardScaler), lower C or "
    "accept a larger tol",
    "no_margin": "the classes overlap so far that no margin is left at this nu and all prototypes are equal: raise nu, "
    "choose a kernel that separates the classes (rbf, a larger gamma), or use the C form (nu=None)",
    "interrupted": "the model is the best so far; warm_start=True continues from here",
}


class Frame:
    """`with Frame(estimator, begin, data) as frame:` train and set the fitted attributes.

    Afterwards the model is whole, whatever comes: Ctrl-C that stopped the solver (`interrupted`) and the error of a
    callback are raised again, and a fit that was not solved, or whose kernel is `indefinite`, warns. `begin` is when
    the fit began, by `time.perf_counter`, `data` what callbacks are told, `note` what else that warning says, and
    `remark` a warning of its own about a model that was solved.
    """

    def __init__(
        self, estimator: Any, begin: float, data: dict[str, Any], advice: Mapping[str, str] = WHAT_TO_DO, depth: int = 0
    ) -> None:
        self.estimator, self.begin, self.advice, self.depth = estimator, begin, advice, depth
        self.progress = Progress(estimator, estimator.tol, estimator.verbose, data)
        self.interrupted = self.indefinite = False
        self.note = ""
        self.remark: str | None = None

    def limits(self, threads: int = 1, memory: float = np.inf) -> Limits:
        """The limits that the parameters set from here on."""
        est, spent = self.estimator, time.perf_counter() - self.begin
        return Limits(
            tol=float(est.tol),
            max_iter=int(est.max_iter),
            deadline=np.inf if est.time_limit is None else time.monotonic() + est.time_limit - spent,
            memory=memory,
            threads=threads,
            progress=self.progress if self.progress.wanted else None,
            seed=seed_of(est.random_state),
        )

    def __enter__(self) -> Frame:
        self.progress.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        est = self.estimator
        try:
            if kind is not None:
                return
            if self.indefinite:
                est.duality_gap_ = np.inf
            est.fit_seconds_ = time.perf_counter() - self.begin
            keep(est)
            self.progress.end(f"polymargin: {summary(est)}")
        finally:
            self.progress.__exit__(kind, *rest)
        if self.interrupted:
            raise KeyboardInterrupt
        if self.progress.error is not None:
            raise self.progress.error
        if self.indefinite:
            self.warn(indefinite_advice(est.kernel))
        # An indefinite kernel leaves no certificate, and a fit without one has stalled.
        if est.status_ in self.advice and not (self.indefinite and est.status_ == "stalled"):
            self.warn(f"{summary(est)}{self.note}: {self.advice[est.status_]}.")

        if self.remark:
            self.warn(self.remark, UserWarning)

    def warn(self, message: str, kind: type[Warning] = ConvergenceWarning) -> None:
        warnings.warn(message, kind, stacklevel=CALLER + 2 + self.depth)


def summary(model: Any) -> str:
    """How a fit ended, in one line."""
    path = getattr(model, "core_size_path_", None)
    steps = f"{model.n_iter_:,} steps" if path is None else f"{len(path):,} rounds"
    found = "" if path is None else f"{path[-1] if path else 0:,} core vectors and "
    if path is None and hasattr(model, "kkt_violation_"):
        found = f"a violation of {model.kkt_violation_:.1e} and "
    return (
        f"{type(model).__name__} ended with status {model.status_!r} after {steps} and {model.fit_seconds_:.3g} s, "
        f"with {found}a duality gap of {model.duality_gap_:.1e} (tol={model.tol:g})"
    )
