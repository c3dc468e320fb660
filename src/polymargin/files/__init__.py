"""Model files and readers of tables.

The format knows no estimator: each declares beside its class what a file holds of it (records.py). May use fitting.
"""

from . import pipelines as _pipelines  # noqa: F401  scikit-learn's estimators are declared there
from .model_file import load_model, save_model

__all__ = ["load_model", "save_model"]
