"""Machines in the space of landmark rows: for many rows, whose classes may overlap.

`LandmarkSVC` trains any machine of the table by Newton steps on smooth losses, with a certified gap.
"""

from .classifier import LandmarkSVC

__all__ = ["LandmarkSVC"]
