"""The experiments of the five papers, rerun: one module per paper with its protocol and its printed figures.

    polymargin reproduce kesler --table 2 --fast

`reproduce` is the same from Python.
"""

from .run import PAPERS, exhibits, reproduce

__all__ = ["PAPERS", "exhibits", "reproduce"]
