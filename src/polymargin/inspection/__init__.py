"""Looking at fitted models: sensitivity maps, and every picture of rows, prototypes, weights and searches.

May use every estimator and search.
"""

from .criterion_display import CriterionDisplay
from .displays import SensitivityDisplay, WeightDisplay
from .embedding_display import EmbeddingDisplay
from .prototype_display import PrototypeDisplay
from .sensitivity import sensitivity_map
from .support_vector_display import SupportVectorDisplay

__all__ = [
    "CriterionDisplay",
    "EmbeddingDisplay",
    "PrototypeDisplay",
    "SensitivityDisplay",
    "SupportVectorDisplay",
    "WeightDisplay",
    "sensitivity_map",
]
