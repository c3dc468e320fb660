"""Multiclass support vector machines: joint machines, reductions, core vectors, tuning, pictures, explanations."""

from .core_vector import CoreVectorSVC
from .displays import SensitivityDisplay, SupportVectorDisplay, WeightDisplay
from .embedding_display import EmbeddingDisplay
from .enclosing_ball import EnclosingBall
from .grnn import GRNNRegressor
from .joint import JointSVC
from .kernel_density import KernelDensityNB
from .manifold import SupervisedIsomap
from .model_file import load_model, save_model
from .output_codes import OutputCodeSVC
from .prototype_display import PrototypeDisplay
from .reductions import OneVsRestSVC, PairwiseSVC
from .search_cv import KernelSearchCV
from .selection import RadiusMarginSearch
from .sensitivity import sensitivity_map
from .structured import StructuredSVC

__version__ = "0.1.0"

__all__ = [
    "CoreVectorSVC",
    "EmbeddingDisplay",
    "EnclosingBall",
    "GRNNRegressor",
    "JointSVC",
    "KernelDensityNB",
    "KernelSearchCV",
    "OneVsRestSVC",
    "OutputCodeSVC",
    "PairwiseSVC",
    "PrototypeDisplay",
    "RadiusMarginSearch",
    "SensitivityDisplay",
    "StructuredSVC",
    "SupervisedIsomap",
    "SupportVectorDisplay",
    "WeightDisplay",
    "__version__",
    "load_model",
    "save_model",
    "sensitivity_map",
]
