"""Multiclass support vector machines: joint machines, reductions, core vectors, tuning, pictures, explanations."""

from .auto import AutoSVC
from .core_vectors import CoreVectorSVC, EnclosingBall
from .files import load_model, save_model
from .inspection import (
    CriterionDisplay,
    EmbeddingDisplay,
    PrototypeDisplay,
    SensitivityDisplay,
    SupportVectorDisplay,
    WeightDisplay,
    sensitivity_map,
)
from .joint import JointSVC
from .landmarks import LandmarkSVC
from .manifold import SupervisedIsomap
from .reductions import OneVsRestSVC, OutputCodeSVC, PairwiseSVC
from .selection import (
    KernelSearchCV,
    RadiusMarginSearch,
    class_separability,
    fisher_score,
    kolmogorov_smirnov_score,
    pearson_score,
    single_machine_bound,
)
from .smoothing import GRNNRegressor, KernelDensityNB
from .structured import StructuredSVC
from .version import __version__

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
    "LandmarkSVC",
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
