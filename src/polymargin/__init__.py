"""Multiclass kernel support vector machines with one joint problem for all classes."""

from .joint import JointSVC

__version__ = "0.1.0"

__all__ = ["JointSVC", "__version__"]
