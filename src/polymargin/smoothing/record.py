"""What model files hold of kernel averages, and what must be true of a loaded one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..files.kinds import FiniteArray, Labels, rows_of_data
from ..files.records import INPUT
from ..fitting.parameters import BOOL, Name, Number

GRNN = {
    **INPUT,
    "_X": (rows_of_data("n"),),
    "_y": (FiniteArray(("n", "q")),),
    "_weight": (FiniteArray(("n",), least=np.finfo(np.float64).tiny),),
    "_one_output": (BOOL,),
    "spread_": (Number("a number whose square is one", least=1e-150, most=1e150),),
    "spreads_": (FiniteArray(("k",)),),
    "errors_": (FiniteArray(("k",)),),
    "_score_type": (Name(("float32", "float64")),),
}
DENSITY = {
    **INPUT,
    "classes_": (Labels("T"),),
    "class_prior_": (FiniteArray(("T",), least=0.0),),
    "bandwidth_": (FiniteArray(("T", "d"), least=1e-150),),
    "_values": (FiniteArray(("V",)),),
    "_shares": (FiniteArray(("V",), least=0.0),),
    "_bounds": (FiniteArray(("B",), ("int64",), least=0, increasing=True),),
}


def check_grnn(model: Any) -> str | None:
    """There are targets, and one column of them where `predict` returns one."""
    sound = model._y.size and (model._y.shape[1] == 1 or not model._one_output)
    return None if sound else "targets of another shape"


def check_density(model: Any) -> str | None:
    """Class probabilities sum to 1, and so do the shares of the values of every feature and class."""
    ends, total = model._bounds, np.r_[0.0, np.cumsum(model._shares)]
    if ends[0] != 0 or ends[-1] != len(model._values) or len(ends) != 1 + model.bandwidth_.size:
        return "values that do not go with its features and classes"
    if abs(model.class_prior_.sum() - 1) > 1e-6 or np.any(np.abs(np.diff(total[ends]) - 1) > 1e-6):
        return "shares that do not sum to 1"
    far = np.abs(model._values).max() / model.bandwidth_.min()
    return None if far < 1e150 else "values whose distances have no finite squares"
