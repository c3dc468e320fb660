"""Columns of a table as numbers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin.auto.tables import ColumnEncoder


@parametrize_with_checks([ColumnEncoder(), ColumnEncoder("common")])
def test_scikit_learn(estimator, check):
    check(estimator)


TABLE = pd.DataFrame(
    {
        "size": [1.0, None, 3.0, 8.0],
        "name": ["ann", "bob", "cy", "di"],
        "color": pd.Categorical(["red", "blue", None, "red"]),
        "when": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
        "flag": [True, False, True, True],
        "whole": pd.array([1, None, 3, 4], dtype="Int64"),
    }
)


def test_kinds_of_columns():
    encoder = ColumnEncoder().fit(TABLE)
    Z = pd.DataFrame(encoder.transform(TABLE), columns=encoder.get_feature_names_out())
    assert list(Z) == [
        "size", "when", "flag", "whole", "size is missing", "when is missing", "whole is missing",
        "color = blue", "color = red",
    ]  # fmt: skip
    filled = np.array([1, 3, 3, 8])
    np.testing.assert_allclose(Z["size"], (filled - filled.mean()) / filled.std())
    days = np.array([0, 1, 1, 3])
    np.testing.assert_allclose(Z["when"], (days - days.mean()) / days.std())
    assert Z["whole is missing"].tolist() == [0, 1, 0, 0]
    assert Z["color = red"].tolist() == [1, 0, 0, 1]
    assert encoder.left_out_.tolist() == [1]


def test_new_words_and_new_gaps():
    encoder = ColumnEncoder().fit(TABLE)
    new = TABLE.assign(color="green", flag=[None] * 4)
    Z = pd.DataFrame(encoder.transform(new), columns=encoder.get_feature_names_out())
    assert not Z[["color = blue", "color = red"]].to_numpy().any()
    assert np.ptp(Z["flag"]) == 0


def test_common_scale_keeps_proportions(seed):
    X = np.random.default_rng(seed).normal(size=(50, 3)) * [1, 10, 100]
    Z = ColumnEncoder("common").fit_transform(X)
    np.testing.assert_allclose(Z.std(axis=0) / Z[:, 0].std(), X.std(axis=0) / X[:, 0].std())
    np.testing.assert_allclose(np.mean(Z.var(axis=0)), 1)


def test_sparse_stays_sparse(seed):
    X = sp.random_array((30, 6), density=0.3, rng=seed, format="csr")
    Z = ColumnEncoder().fit_transform(X)
    assert sp.issparse(Z) and Z.nnz == X.nnz
    np.testing.assert_allclose(np.abs(Z).max(axis=0).toarray().ravel(), 1)


def test_constant_and_empty_columns():
    X = np.array([[1e9, np.nan, 0.1], [1e9, np.nan, 0.1], [1e9, np.nan, 0.1]])
    assert np.abs(ColumnEncoder().fit_transform(X)[:, :3]).max() < 1e-6


def test_most_frequent_words():
    X = pd.DataFrame({"word": ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] * 2})
    assert ColumnEncoder(max_categories=2).fit(X).categories_[0].tolist() == ["a", "b"]


def test_messages():
    encoder = ColumnEncoder().fit(TABLE)
    with pytest.raises(ValueError, match="expected numbers in column 'size' as in fit, got 'big'"):
        encoder.transform(TABLE.astype(object).assign(size="big"))
    with pytest.raises(ValueError, match="expected X to be finite, got infinity"):
        ColumnEncoder().fit([[1.0, np.inf], [0.0, 1.0]])
    with pytest.raises(ValueError, match="expected finite numbers in column 'size', got infinity"):
        encoder.transform(TABLE.assign(size=np.inf))
    with pytest.raises(ValueError, match="scaling"):
        ColumnEncoder("columns").fit(TABLE)
