"""Models as ONNX graphs: `to_onnx` by itself, `register` for skl2onnx. Knows every estimator."""

from .convert import register, to_onnx

__all__ = ["register", "to_onnx"]
