"""Models as ONNX graphs of plain operators: matrix products, Exp, ArgMax.

    X -> scalers of a pipeline -> kernel values K (n, n_SV) -> K B' + b, scores -> the decision rule -> label, scores

The operators SVMClassifier and SVMRegressor of ONNX are not used: they compute in float32 only and have no joint
machines.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..files.records import RECORDS
from ..version import __version__
from .graph import Graph
from .models import MODEL_NAMES, declared, outputs

OPSET = 18


def to_onnx(model: Any, path: str | os.PathLike | None = None, *, double: bool = False) -> Any:
    """A fitted model as an ONNX model, to be run without this library.

    The graph takes `X` of shape (n, n_features), or kernel values for `kernel="precomputed"`. A classifier gives
    `label` of shape (n,) and `scores`, what `decision_function` gives; AutoSVC also `probabilities`. GRNNRegressor
    gives `prediction`, SupervisedIsomap `embedding`.

    Parameters
    ----------
    model : fitted estimator, or Pipeline that ends in one
        JointSVC, CoreVectorSVC, LandmarkSVC, PairwiseSVC, OneVsRestSVC, OutputCodeSVC, StructuredSVC, AutoSVC (of
        columns of numbers), GRNNRegressor or SupervisedIsomap; before it in a pipeline, StandardScaler, MinMaxScaler,
        MaxAbsScaler and SupervisedIsomap. A callable kernel cannot be exported.
    path : str or path, default=None
        Where to write the model as well.
    double : bool, default=False
        Compute in float64, with X of that type; else in float32.

    Returns
    -------
    onnx_model : onnx.ModelProto
        The model; `onnxruntime.InferenceSession(onnx_model.SerializeToString())` runs it.

    Notes
    -----
    The Laplacian kernel needs memory for n * n_SV * n_features numbers: pass few rows at once.

    See Also
    --------
    register : for pipelines with other steps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC
    >>> from polymargin.onnx import to_onnx
    >>> [output.name for output in to_onnx(JointSVC().fit(*load_iris(return_X_y=True))).graph.output]
    ['label', 'scores']
    """
    try:
        import onnx
    except ImportError:
        raise ImportError(
            'expected the package onnx for to_onnx, got none; install it with pip install "polymargin[onnx]"'
        ) from None
    check_is_fitted(model)
    graph = Graph(double)
    for name, tensor in outputs(graph, model, "X").items():
        graph.op("Identity", tensor, output=name)
    helper, kind = graph.helper, graph.helper.np_dtype_to_tensor_dtype
    body = helper.make_graph(
        graph.nodes,
        type(model).__name__,
        [helper.make_tensor_value_info("X", kind(np.dtype(graph.dtype)), ["n", int(model.n_features_in_)])],
        [
            helper.make_tensor_value_info(name, kind(dtype), ["n", *shape])
            for name, (dtype, shape) in declared(graph, model).items()
        ],
        graph.constants,
    )
    proto = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,
        producer_name="polymargin",
        producer_version=__version__,
    )
    onnx.checker.check_model(proto)
    if path is not None:
        onnx.save_model(proto, os.fspath(path))
    return proto


def register() -> None:
    """Teach skl2onnx the models of this library, behind any steps of a pipeline that skl2onnx knows.

    After it, `skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32))` converts; float64 rows make a model of float64.
    The outputs are those of `polymargin.onnx.to_onnx`. Calling it twice does no harm.

    See Also
    --------
    to_onnx : without skl2onnx.

    Examples
    --------
    >>> import polymargin.onnx
    >>> polymargin.onnx.register()
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ImportError(
            'expected the package skl2onnx for register, got none; install it with pip install "polymargin[onnx]"'
        ) from None
    for name in MODEL_NAMES:
        update_registered_converter(
            RECORDS[name].estimator,
            f"Polymargin{name}",
            lambda operator: None,  # the parser knows all shapes
            add_to_container,
            parser=declare,
            options={"zipmap": [False]},  # there is no zipmap
        )


def graph_for(inputs: list[Any]) -> Graph:
    """A graph in the type of the rows that skl2onnx was given."""
    from skl2onnx.common.data_types import DoubleTensorType

    return Graph(double=isinstance(inputs[0].type, DoubleTensorType))


def declare(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """The outputs of a model, as skl2onnx wants them declared."""
    from skl2onnx._supported_operators import get_model_alias
    from skl2onnx.common import data_types

    kinds = {
        "i": data_types.Int64TensorType,
        "O": data_types.StringTensorType,
        "b": data_types.BooleanTensorType,
    }
    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs.extend(inputs)
    for name, (dtype, shape) in declared(graph_for(inputs), model).items():
        real = data_types.DoubleTensorType if dtype == np.float64 else data_types.FloatTensorType
        kind = kinds.get(dtype.kind, real)
        operator.outputs.append(scope.declare_local_variable(name, kind([None, *shape])))
    return operator.outputs


def add_to_container(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of a model, under names that are free in the graph of skl2onnx."""
    graph = graph_for(operator.inputs)
    if len(operator.inputs) != 1:
        raise ValueError(
            f"expected {type(operator.raw_operator).__name__} to have one input, got {len(operator.inputs)}; put them "
            f"side by side first"
        )
    x = graph.op("Cast", "X", to=graph.helper.np_dtype_to_tensor_dtype(np.dtype(graph.dtype)))
    found = outputs(graph, operator.raw_operator, x)
    names = {"X": operator.inputs[0].full_name}
    for output in operator.outputs:
        graph.op("Identity", found[output.raw_name], output=f"output {output.raw_name}")
        names[f"output {output.raw_name}"] = output.full_name

    def name_of(tensor: str) -> str:
        if tensor not in names:
            names[tensor] = scope.get_unique_variable_name(f"polymargin_{tensor}")
        return names[tensor]

    for constant in graph.constants:
        content = list(constant.string_data) or constant
        container.add_initializer(name_of(constant.name), constant.data_type, list(constant.dims), content)
    for node in graph.nodes:
        container.add_node(
            node.op_type,
            [name_of(tensor) for tensor in node.input],
            [name_of(tensor) for tensor in node.output],
            op_version=OPSET,
            name=scope.get_unique_operator_name(node.op_type),
            **{a.name: graph.helper.get_attribute_value(a) for a in node.attribute},
        )
