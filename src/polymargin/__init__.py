"""Multiclass support vector machines: joint machines, reductions, core vectors, tuning, pictures, explanations."""

from .auto import AutoSVC
from .core_vector import CoreVectorSVC
from .criterion_display import CriterionDisplay
from .displays import SensitivityDisplay, SupportVectorDisplay, WeightDisplay
from .embedding_display import EmbeddingDisplay
from .enclosing_ball import EnclosingBall
from .feature_scores import fisher_score, kolmogorov_smirnov_score, pearson_score
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
from .separability import class_separability, single_machine_bound
from .structured import StructuredSVC

__version__ = "0.1.0"

__all__ = [
    "AutoSVC",
    "CoreVectorSVC",
    "CriterionDisplay",
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
    "class_separability",
    "fisher_score",
    "kolmogorov_smirnov_score",
    "load_model",
    "pearson_score",
    "save_model",
    "sensitivity_map",
    "single_machine_bound",
]
