"""The values of a model file: what is in a model as JSON and arrays, and back.

JSON values stand for themselves, except objects, which have one key that says what they are:

    {"estimator": [name, {parameter: value}, {fitted attribute: value}]}
    {"array": number}   {"csr": [data, indices, indptr, shape, "array" | "matrix"]}   {"labels": [type, list]}
    {"scalar": [type, value]}   {"float": "inf" | "-inf" | "nan"}   {"tuple": list}   {"dict": [[key, value], ...]}

Decoding builds only the estimators of RECORDS, sets only the attributes listed there, and checks them all.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..fitting.parameters import quoted
from ..fitting.resources import budget
from .kinds import NUMBERS, accepted, is_fitted
from .records import RECORDS, Record

Arrays = dict[int, np.ndarray]  # those of a file, by number


class BadFile(ValueError):
    """What is wrong with a model file."""


def plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))  # a union of types would take five times as long


def encode(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """A value as JSON; its arrays are added to a list. `where` names it in messages."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
        return {"scalar": [value.dtype.name, encode(value.item(), arrays, where)]}
    if isinstance(value, list | tuple):
        items = [encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]
        return items if type(value) is list else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[encode(k, arrays, where), encode(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    if isinstance(value, sp.csr_array | sp.csr_matrix):
        kind = "array" if isinstance(value, sp.csr_array) else "matrix"
        parts = [encode(part, arrays, where) for part in (value.data, value.indices, value.indptr)]
        return {"csr": [*parts, list(value.shape), kind]}
    if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS:
        arrays.append(np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")))
        return {"array": len(arrays) - 1}
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO" and value.ndim == 1:
        items = value.tolist()
        if all(map(plain, items)):
            wide = value.dtype.kind == "O" or not spacious(items, value.itemsize)
            kind = "object" if wide else value.dtype.newbyteorder("<").str
            return {"labels": [kind, [encode(item, arrays, where) for item in items]]}
    if isinstance(value, BaseEstimator):
        return {"estimator": encode_estimator(value, arrays, where)}
    if isinstance(value, range):
        return list(value)
    if hasattr(value, "__array__") and np.asarray(value).dtype.name in NUMBERS and not isinstance(value, np.generic):
        return encode(np.asarray(value), arrays, where)  # a data frame of parameters
    raise ValueError(
        f"expected a model of numbers, strings, arrays and known estimators, got {type(value).__name__} in "
        f"{where}, which cannot be stored as plain data; use pickle or skops instead"
    )


def spacious(items: list[str], itemsize: int) -> bool:
    """Whether an array of text is in proportion to the text in it.

    NumPy gives every label the room of the longest, so a file with one long label, or one that only claims to have it,
    would expand to thousands of times its size.
    """
    return len(items) * itemsize <= 1024 + 64 * sum(map(len, items))


def encode_estimator(model: Any, arrays: list[np.ndarray], where: str) -> list[Any]:
    name = type(model).__name__
    if name not in RECORDS or RECORDS[name].estimator is not type(model):
        advice = "save its best_estimator_" if hasattr(model, "best_estimator_") else "use pickle or skops instead"
        raise ValueError(
            f"expected the model to be one of {quoted(RECORDS)}, got {type(model).__module__}.{name}; {advice}"
        )
    fitted: dict[str, Any] = {}
    if is_fitted(model):  # the estimator of a search is not
        fitted = {k: getattr(model, k) for k in RECORDS[name].fitted if hasattr(model, k)}
        for k, derive in RECORDS[name].derived.items():
            with contextlib.suppress(AttributeError):  # not every model has it
                fitted[k] = derive(model)
    return [
        name,
        {k: encode(v, arrays, f"{where}({k}=...)") for k, v in model.get_params(deep=False).items()},
        {k: encode(v, arrays, f"{where}.{k}") for k, v in fitted.items()},
    ]


def decode(value: Any, arrays: Arrays) -> Any:
    """The value that JSON stands for. Every array is used once and taken out of `arrays`."""
    if plain(value):
        return value
    if isinstance(value, list):
        return [decode(v, arrays) for v in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise BadFile("a description with unknown parts")
    ((kind, content),) = value.items()
    if kind not in DECODERS:
        raise BadFile(f"an unknown or unusable {kind}")
    try:
        return DECODERS[kind](content, arrays)
    except (BadFile, MemoryError, RecursionError):
        raise
    except Exception as error:  # whatever a value of the wrong kind leads to
        raise BadFile(f"an unusable {kind} ({error})") from None


def decode_array(number: Any, arrays: Arrays) -> np.ndarray:
    if type(number) is not int:
        raise BadFile("an unknown or unusable array")
    return arrays.pop(number)


def decode_float(name: Any, arrays: Arrays) -> float:
    if name not in ("inf", "-inf", "nan"):
        raise BadFile("an unknown or unusable float")
    return float(name)


def decode_tuple(items: Any, arrays: Arrays) -> tuple[Any, ...]:
    if not isinstance(items, list):
        raise BadFile("an unknown or unusable tuple")
    return tuple(decode(v, arrays) for v in items)


def decode_dict(items: Any, arrays: Arrays) -> dict[Any, Any]:
    return {decode(k, arrays): decode(v, arrays) for k, v in items}


def decode_scalar(content: Any, arrays: Arrays) -> Any:
    if content[0] not in NUMBERS:
        raise BadFile("an unknown or unusable scalar")
    return np.dtype(content[0]).type(decode(content[1], arrays))


def decode_labels(content: Any, arrays: Arrays) -> np.ndarray:
    kind, items = content
    items = [decode(item, arrays) for item in items]
    width = re.fullmatch(r"<U([0-9]{1,9})", kind)
    if kind == "object" and all(map(plain, items)):
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array
    if width and all(isinstance(item, str) and len(item) <= int(width[1]) for item in items):
        if not spacious(items, 4 * int(width[1])):
            raise BadFile(f"labels of type {kind} that are much shorter")
        return np.array(items, dtype=kind)
    raise BadFile(f"labels that are not of type {kind!r}")


def decode_csr(content: Any, arrays: Arrays) -> Any:
    *parts, shape, kind = content
    data, indices, indptr = (decode(part, arrays) for part in parts)
    if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**62 for n in shape) or kind not in ("array", "matrix"):
        raise BadFile("a sparse matrix without a shape")
    n, d = shape
    if data.ndim != 1 or indices.shape != data.shape or indptr.shape != (n + 1,):
        raise BadFile("a sparse matrix whose parts do not match")
    if indices.dtype != indptr.dtype or indices.dtype.name not in ("int32", "int64"):
        raise BadFile("a sparse matrix with indices of another type")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(np.diff(indptr) < 0):
        raise BadFile("a sparse matrix whose rows do not follow each other")
    if len(indices) and (indices.min() < 0 or indices.max() >= d):
        raise BadFile("a sparse matrix with indices out of range")
    # Within a row indices increase; where a row begins they may fall.
    falls = np.flatnonzero(np.diff(indices) <= 0) + 1
    if not np.isin(falls, indptr).all():
        raise BadFile("a sparse matrix with unsorted rows")
    matrix = sp.csr_array if kind == "array" else sp.csr_matrix
    return matrix((data, indices, indptr), shape=(n, d), copy=False)


def decode_estimator(content: Any, arrays: Arrays) -> BaseEstimator:
    name, parameters, fitted = content
    if name not in RECORDS:
        raise BadFile(f"the unknown estimator {name!r}; this library knows {quoted(RECORDS)}")
    record = RECORDS[name]
    values = {k: decode(v, arrays) for k, v in parameters.items()}
    for k, v in values.items():
        if k not in record.parameters or not accepted(record.parameters[k], v, {}):
            raise BadFile(f"{name} with an unknown or impossible parameter {k}")
    if "memory" in values and values["memory"] is not None:
        budget(values["memory"], needed=0)
    model = record.estimator(**values)
    if fitted or (not record.fitted and is_fitted(model)):  # a pipeline is fitted by its steps
        set_fitted(model, record, {k: decode(v, arrays) for k, v in fitted.items()})
    return model


def set_fitted(model: Any, record: Record, values: dict[str, Any]) -> None:
    """Set the fitted attributes of a model, after all checks of its record."""
    name, sizes = type(model).__name__, dict[str, int]()
    for k in values:
        if k not in record.fitted:
            raise BadFile(f"{name} with {k}, which it should not have")
    for k, constraints in record.fitted.items():
        if k not in values:
            if k in record.optional:
                continue
            raise BadFile(f"{name} without {k}")
        if not accepted(constraints, values[k], sizes):
            expected = ", or ".join(c.expected for c in constraints)
            raise BadFile(f"{name} with an impossible {k}, which should be {expected}")
        if k not in record.derived:
            setattr(model, k, values[k])
    if wrong := record.check(model):
        raise BadFile(f"{name} with {wrong}")
    record.restore(model, values)


DECODERS: dict[str, Callable[[Any, Arrays], Any]] = {
    "array": decode_array,
    "float": decode_float,
    "tuple": decode_tuple,
    "dict": decode_dict,
    "scalar": decode_scalar,
    "labels": decode_labels,
    "csr": decode_csr,
    "estimator": decode_estimator,
}
