"""A graph of ONNX operators in the making."""

from __future__ import annotations

from typing import Any

import numpy as np


class Graph:
    """Nodes and constants that are added one by one; every function returns the name of its result."""

    def __init__(self, double: bool) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.dtype = np.float64 if double else np.float32
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def op2(self, kind: str, *inputs: str, **attributes: Any) -> tuple[str, str]:
        """An operator with two results."""
        names = f"{kind.lower()}_{len(self.nodes)}", f"{kind.lower()}_{len(self.nodes)}_second"
        self.nodes.append(self.helper.make_node(kind, list(inputs), list(names), **attributes))
        return names

    def constant(self, value: Any, dtype: Any = None) -> str:
        array = np.array(value, dtype=dtype or self.dtype, order="C")
        self.constants.append(self.numpy_helper.from_array(array, f"constant_{len(self.constants)}"))
        return self.constants[-1].name

    def reduce(self, kind: str, x: str, axis: int = -1, keep: bool = True) -> str:
        """ReduceSum, ReduceMax, ... over one axis."""
        return self.op(kind, x, self.constant([axis], np.int64), keepdims=int(keep))

    def row_sums(self, x: str) -> str:
        return self.reduce("ReduceSum", x)

    def number(self, x: str) -> str:
        """Booleans as 0 and 1."""
        return self.op("Cast", x, to=self.helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype)))
