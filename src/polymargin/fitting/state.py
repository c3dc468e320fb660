"""What a fit leaves behind: one whole model, the new one or the previous one.

Fitted attributes are set one after another, the number of features before anything else is known, and an error or
Ctrl-C may come between any two of them. So `fit` is `whole`: if anything ends it before it has called `keep`, the
attributes of the previous model come back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .resources import out_of_memory


def whole(fit: Callable[..., Any], anew: bool = True) -> Callable[..., Any]:
    """A method that fits, all or nothing; `anew` drops the old fitted attributes, except in a warm start."""

    @functools.wraps(fit)
    def whole_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        former = dict(vars(self))
        state = dict(former)
        if anew and not getattr(self, "warm_start", False):
            state = {name: value for name, value in former.items() if name.startswith("_") or not name.endswith("_")}
        try:
            self.__dict__ = state | {"_former": former}
            return fit(self, *args, **kwargs)
        except BaseException as error:
            if vars(self).get("_former") is former:
                self.__dict__ = dict(former)
            if isinstance(error, MemoryError):
                raise out_of_memory(self, args[0] if args else None, error) from error
            raise
        finally:
            if "_former" in former:  # this fit is part of another one
                self._former = former["_former"]
            else:
                vars(self).pop("_former", None)

    return whole_fit


def keep(estimator: Any) -> None:
    """Declare that the fitted attributes are those of one usable model: it stays, however the fit ends."""
    vars(estimator).pop("_former", None)
