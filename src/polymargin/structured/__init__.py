"""The structured support vector machine: any loss between labels, by cutting planes. Linear. May use training."""

from .classifier import StructuredSVC

__all__ = ["StructuredSVC"]
