"""What a beginner calls first: columns to numbers, a machine chosen, tuned, trained, calibrated. May use selection."""

from .classifier import AutoSVC

__all__ = ["AutoSVC"]
