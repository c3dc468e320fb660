"""Multiclass kernel support vector machines with one joint problem for all classes."""

from .core_vector import CoreVectorSVC
from .enclosing_ball import EnclosingBall
from .displays import SensitivityDisplay, SupportVectorDisplay, WeightDisplay
from .joint import JointSVC
from .kernel_density import KernelDensityNB
from .model_file import load_model, save_model
from .output_codes import OutputCodeSVC
from .prototype_display import PrototypeDisplay
from .reductions import OneVsRestSVC, PairwiseSVC
from .selection import RadiusMarginSearch
from .sensitivity import sensitivity_map

__version__ = "0.1.0"

__all__ = [
    "CoreVectorSVC",
    "EnclosingBall",
    "JointSVC",
    "KernelDensityNB",
    "OneVsRestSVC",
    "OutputCodeSVC",
    "PairwiseSVC",
    "PrototypeDisplay",
    "RadiusMarginSearch",
    "SensitivityDisplay",
    "SupportVectorDisplay",
    "WeightDisplay",
    "__version__",
    "load_model",
    "save_model",
    "sensitivity_map",
]
from .grnn import GRNNRegressor
from .joint import JointSVC
from .manifold import SupervisedIsomap
from .structured import StructuredSVC

__version__ = "0.1.0"

__all__ = ["GRNNRegressor", "JointSVC", "StructuredSVC", "SupervisedIsomap", "__version__"]
