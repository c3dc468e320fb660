"""Supervised Isomap: graph, shortest paths, classical scaling, and a map for new rows. May use smoothing."""

from .isomap import SupervisedIsomap

__all__ = ["SupervisedIsomap"]
