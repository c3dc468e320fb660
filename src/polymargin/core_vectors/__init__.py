"""Core vectors: machines and enclosing balls of millions of rows from a few of them, added until the rest lie inside.

Rows come from arrays, files, chunks or a Dask cluster. May use training, and the reductions' pairs of classes.
"""

from .classifier import CoreVectorSVC
from .enclosing_ball import EnclosingBall

__all__ = ["CoreVectorSVC", "EnclosingBall"]
