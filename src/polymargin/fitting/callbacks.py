"""scikit-learn's callbacks: they hear when a fit and its parts begin and end, and may ask to stop.

A solver's part is a step of the progress it reports; that of a search is what it compares at once. The tree of these
tasks is scikit-learn's `CallbackContext`, which lies in the estimator while it is fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    CALLER = 4  # the stacklevel of a warning from a whole fit under with_callbacks that names the caller's line
except ImportError:  # scikit-learn < 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        pass

    def with_callbacks(method: Any) -> Any:
        return method

    CALLER = 3


__all__ = ["CALLER", "CallbackSupportMixin", "Parts", "with_callbacks"]


class Parts:
    """Reports each finished part of one fit on these `data`; `ended` is set once a callback asks to stop."""

    def __init__(self, estimator: Any, data: dict[str, Any]) -> None:
        self.estimator, self.data, self.ended = estimator, data, False
        start = getattr(estimator, "_init_callback_context", None)
        # The number of parts is not known in advance, hence None.
        self.context = start(max_subtasks=None) if start else None
        if self.context:
            self.context.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, name: str) -> bool:
        """Whether to stop now that one more part is over; after a yes, callbacks are not asked again."""
        if self.context and not self.ended:
            part = self.context.subcontext(task_name=name)
            part.call_on_fit_task_begin(estimator=self.estimator)
            self.ended = part.call_on_fit_task_end(estimator=self.estimator)
        return self.ended

    @contextmanager
    def of(self, other: Any, name: str) -> Iterator[None]:
        """A part that is the fit of another estimator, which callbacks follow if they are meant to."""
        if not self.context:
            yield
            return
        part = self.context.subcontext(task_name=name)
        with part.propagate_callback_context(other):
            part.call_on_fit_task_begin(estimator=self.estimator, **self.data)
            yield
        self.ended = part.call_on_fit_task_end(estimator=self.estimator, **self.data) or self.ended

    def end(self) -> None:
        """The estimator is fitted."""
        if self.context:
            self.context.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.data)
