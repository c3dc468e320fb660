"""Strange calls of the compiled module: it refuses them in a sentence or computes, and never crashes.

The calls are those of tests/core/test_core_arguments.py, which spoils one argument at a time. Here several are at once,
with any type, shape, strides, alignment, byte order and value.
"""

import contextlib
import importlib
import sys
from pathlib import Path

import numpy as np

from .changes import NUMBERS, WORDS, pick
from .files import Trial, lack_of_memory

TYPES = ["f8", "f4", "f2", ">f8", "i8", "i4", "i1", "u1", "u8", ">i8", "?", "c16", "U3", "O", "M8[s]", "g"]
ENTRIES = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    -1.0,
    1.0,
    1e308,
    -1e308,
    5e-324,
    1e-160,
    2.0**31,
    2.0**53,
    2.0**62,
    1e30,
]
KERNELS = ["rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed", "callable", "unknown", None]


def strange_kernel(rng, kernel: dict) -> dict:
    changed = dict(kernel)
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, ["kind", "kind", "gamma", "gammas", "degree", "coef0", "offset", "call", "other"])
        if name == "kind":
            changed[name] = pick(rng, KERNELS)
        elif name == "gammas":
            changed[name] = strange(rng, np.ones(3))
        elif name == "call":
            wrong = pick(rng, [None, (), (3,), (12, 12), (0, 0)])
            changed[name] = lambda rows, cols, wrong=wrong: np.ones((len(rows), len(cols)) if wrong is None else wrong)
        else:
            changed[name] = strange(rng, 1.0)
    return changed


def strange_array(rng, array: np.ndarray):
    """An array with other numbers, another type, shape or place in memory."""
    array, way = array.copy(), int(rng.integers(12))
    if way <= 3 and array.size:
        entries = ENTRIES if array.dtype.itemsize > 1 else [-1, 0, 1, 2, -128]
        for _ in range(int(pick(rng, [1, 1, 3, array.size]))):
            array.flat[int(rng.integers(array.size))] = np.array(pick(rng, entries)).astype(array.dtype)
    elif way == 4:
        with contextlib.suppress(ValueError, TypeError):
            array = array.astype(pick(rng, TYPES))
    elif way == 5:
        array = pick(
            rng, [array[::-1], array[::2], array[..., ::-1], array[..., ::2], array.T, np.asfortranarray(array)]
        )
    elif way == 6:
        array = pick(rng, [array[None], array[..., None], array.ravel(), array[:0], array[..., :0], array.sum()])
    elif way == 7:
        array = np.resize(
            array, pick(rng, [(1,), (3,), (12,), (13,), (144,), (12, 3), (3, 12), (12, 12), (0, 3), (12, 0)])
        )
    elif way == 8:  # as long as it is said to be, in no memory at all
        array = np.broadcast_to(
            array.flat[:1][0] if array.size else 0, pick(rng, [(2**20,), (2**40,), (12, 2**30), (2**31, 3)])
        )
    elif way == 9:  # at an odd address
        memory = np.zeros(array.nbytes + 1, np.uint8)
        memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
        array = memory[1:].view(array.dtype).reshape(array.shape)
    elif way == 10:
        array.flags.writeable = False
    else:
        array = rng.permutation(array.ravel()).reshape(array.shape)
    return array


def strange(rng, value):
    """Something in the place of an argument."""
    if rng.random() < 0.1:
        return pick(rng, [None, object(), "a", [], (), {}, 1.5, np.float32(2), np.ones(3), b"x", True, [1.0, 2.0]])
    if isinstance(value, np.ndarray):
        return strange_array(rng, value)
    if isinstance(value, dict):
        return strange_kernel(rng, value)
    if isinstance(value, str):
        return pick(
            rng, [*WORDS, "float32", "float64", "total", "per_class", "own", "mean", "none", "smo", "ksk", "mdm"]
        )
    if isinstance(value, bool):
        return not value
    return pick(rng, NUMBERS + ENTRIES)


class Calls:
    """Calls that work, each with some of its arguments replaced."""

    @staticmethod
    def write(folder: Path) -> None:
        pass

    def __init__(self, folder: Path, scratch: Path):
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "core"))
        families = importlib.import_module("test_core_arguments").CALLS
        self.calls = [(name, *made) for family in families.values() for name, made in family.items()]

    def warm(self) -> None:
        for _, call, arguments in self.calls:
            call(**arguments)

    def draw(self, rng, k: int) -> Trial:
        name, call, arguments = self.calls[k % len(self.calls)]
        changed = dict(arguments)
        for argument in rng.permutation(list(arguments))[: int(rng.integers(1, 4))]:
            changed[argument] = strange(rng, arguments[argument])
        if "time_limit" in changed:  # the solvers are asked to end
            changed["time_limit"] = pick(rng, [0.0, 0.01, 0.1, -1.0, np.nan])

        def run() -> str | None:
            try:
                call(**changed)
            except (ValueError, TypeError, MemoryError):
                return None
            except Exception as error:
                return None if lack_of_memory(error) else f"{type(error).__name__}: {error}"
            return None

        return Trial(name, repr(changed).encode(errors="replace"), run)
