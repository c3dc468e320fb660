"""Many binary machines on shared kernel values: pairs, one-versus-rest, output codes.

A scheme is a code (a column per machine) and a rule that turns column scores into class scores. May use training.
"""

from .one_vs_rest import OneVsRestSVC
from .output_codes import OutputCodeSVC
from .pairwise import PairwiseSVC

__all__ = ["OneVsRestSVC", "OutputCodeSVC", "PairwiseSVC"]
