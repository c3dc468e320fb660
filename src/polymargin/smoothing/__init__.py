"""Kernel averages: a regression that places new rows in an embedding, paper 1's baseline. May use fitting and files."""

from .grnn import GRNNRegressor
from .kernel_density import KernelDensityNB

__all__ = ["GRNNRegressor", "KernelDensityNB"]
