"""Columns of a table as numbers."""

import datetime
import re
import uuid

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from polymargin import AutoSVC
from polymargin.auto.tables import ColumnEncoder, planned


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


def plan_of(**columns):
    encoder = ColumnEncoder().fit(pd.DataFrame(columns))
    return encoder, {c.pop("name"): c for c in encoder.columns_}


def test_identifiers_are_left_out_in_any_order(rng):
    """Row numbers that a split has shuffled and thinned; names; cells that repeat in one row out of many."""
    n = 200
    few = [f"N{i // 2}A{i}" if i > 3 else "N0A0" for i in range(n)]
    encoder, found = plan_of(
        row=rng.permutation(300)[:n] + 1, rows=(rng.permutation(300)[:n] + 1).astype(float), name=few,
        price=rng.integers(0, 10**6, n), age=rng.integers(20, 60, n), level=np.repeat([1, 2, 3, 4], 50),
        note=["", " ", None, np.nan] * 50, place=["here"] * n, zero=np.zeros(n),
    )  # fmt: skip
    used = {name: c["used_as"] for name, c in found.items()}
    left = ("row", "rows", "name", "note", "place", "zero")
    assert used == dict.fromkeys(found, "number") | dict.fromkeys(left, "left out")
    assert (
        "only number the rows" in found["row"]["reason"] and "almost every row has its own" in found["name"]["reason"]
    )
    assert found["note"]["reason"] == "every cell is empty" and found["note"]["missing"] == n
    assert found["place"]["reason"] == "the same in all rows" == found["zero"]["reason"]
    with pytest.raises(ValueError, match="expected at least one column that tells the rows apart"):
        ColumnEncoder().fit(pd.DataFrame({"row": np.arange(50)}))
    kept = ColumnEncoder(columns={"row": "number"}).fit(pd.DataFrame({"row": np.arange(50)}))
    assert kept.columns_[0]["used_as"] == "number"


def test_years_do_not_number_rows(rng):
    found = plan_of(year=np.arange(1956, 2011), row=1 + rng.permutation(55), pair=np.arange(55) // 2 * 7 + 0.5)[1]
    assert [c["used_as"] for c in found.values()] == ["number", "left out", "number"]


def test_values_in_few_rows_are_not_said_to_be_in_one(rng):
    found = plan_of(x=rng.normal(size=60), pairs=[f"w{k // 2}" for k in range(60)])[1]
    assert found["pairs"]["reason"] == "30 different values in 60 rows: most of them are in too few rows"


def test_words_that_are_in_one_row_each_are_not_counted_in_rows():
    table = planned(pd.DataFrame({"code": [f"c{k}" for k in range(60)]}), {"code": "category"})
    assert table.plan[0].reason == "50 of 60 words; the others count as one"


def test_words_by_frequency_and_words_inside_cells(rng):
    n = 300
    towns = np.where(np.arange(n) < 200, rng.choice(["Rome", "Oslo"], n), [f"town{i}" for i in range(n)])
    names = [f"{'Miss' if i % 3 else 'Mr'} Surname{i}" for i in range(n)]
    encoder, found = plan_of(town=towns, name=names)
    assert found["town"] == {
        "used_as": "category", "missing": 0, "features": 3,
        "reason": f"2 of 102 words, in at least {min((towns == 'Rome').sum(), (towns == 'Oslo').sum())} rows each; "
        "the others count as one",
    }  # fmt: skip
    assert encoder.get_feature_names_out().tolist() == [
        "town = Oslo", "town = Rome", "town = other words", 'name has "miss"', 'name has "mr"',
    ]  # fmt: skip
    new = pd.DataFrame({"town": [" Rome ", "Bonn", None], "name": ["Mr X", "the miss", None]})
    np.testing.assert_array_equal(encoder.transform(new), [[0, 1, 0, 0, 1], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]])


def test_rare_words_of_a_short_list_are_used():
    """Given names in 600 rows: where most are frequent, one that is in two rows is a name like the others."""
    names = np.repeat([f"name{k:02d}" for k in range(20)], [40] * 14 + [2] * 6)
    encoder, found = plan_of(name=names, seen=np.arange(572) % 7)
    assert found["name"]["features"] == 20 and found["name"]["reason"] == ""
    assert plan_of(name=[*names, "once"], seen=np.arange(573) % 7)[1]["name"]["reason"].startswith("20 of 21 words")


def test_years_have_no_months():
    """The first of January of every year: a month that is the same in all rows is no feature."""
    year = pd.to_datetime([f"{1970 + k % 12}-01-01" for k in range(60)])
    assert plan_of(year=year, a=np.arange(60) % 7)[0].get_feature_names_out().tolist() == ["year", "a"]


def test_numbers_and_dates_as_spreadsheets_write_them(rng):
    values, days = rng.normal(size=60) * 1e4, np.datetime64("2022-01-01") + rng.integers(0, 900, 60)
    text = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in values]
    encoder, found = plan_of(
        price=text, either=[f"{v:.3f}".replace(".", ",") for v in 100 + rng.random(60)],
        share=[f"{v:.1f}%" for v in values], day=[str(d)[8:] + "." + str(d)[5:7] + "." + str(d)[:4] for d in days],
    )  # fmt: skip
    assert [c["used_as"] for c in found.values()] == ["number"] * 3 + ["date"]
    assert found["price"]["reason"] == "decimal comma" and found["day"]["reason"] == "dates read as day.month.year"
    assert found["either"]["reason"] == "',' assumed to be the decimal mark"  # because it is in the first column
    Z = encoder.transform(pd.DataFrame({"price": ["1.396"], "either": ["1,5"], "share": [""], "day": ["01.03.2024"]}))
    names = encoder.get_feature_names_out().tolist()
    price = (1396 - encoder.mean_[0]) / encoder.scale_[0]
    assert Z[0, 0] == pytest.approx(price) and Z[0, names.index("day: Mar")] == 1 == Z[0, names.index("day: Fri")]
    assert Z[0, names.index("day")] == pytest.approx(
        (np.datetime64("2024-03-01", "s").astype(float) - encoder.mean_[3]) / encoder.scale_[3]
    )
    with pytest.warns(
        UserWarning, match="expected numbers in column 'share' as in fit, got 'much', which counts as empty"
    ):
        encoder.transform(pd.DataFrame({"price": ["1"], "either": ["2"], "share": ["much"], "day": ["01.03.2024"]}))


def test_why_a_column_is_neither_numbers_nor_dates(rng):
    values, days = [f"{v:.4f}" for v in rng.random(60)], [f"{1 + k % 28}.{1 + k % 12}.{2000 + k}" for k in range(60)]
    found = plan_of(
        x=values, few=["<0.5", *values[1:]], half=[v + "%" if k % 2 else v for k, v in enumerate(values)],
        day=["soon", *days[1:]], days=[f"2024-03-{1 + k % 28:02}" if k % 3 else v for k, v in enumerate(days)],
        word=[f"w{k}" for k in range(60)],
    )[1]  # fmt: skip
    assert [c["used_as"] for c in found.values()] == ["number"] + 5 * ["left out"]
    assert found["few"]["reason"].startswith("59 numbers and 1 other cell such as '<0.5': make them all numbers")
    assert found["half"]["reason"] == "numbers with and without percent signs: write them all in one way"
    assert found["day"]["reason"].startswith("59 dates and 1 other cell such as 'soon'")
    assert found["days"]["reason"] == "dates in several notations: write them all in one way"
    assert found["word"]["reason"] == "60 different values in 60 rows: almost every row has its own"


def test_a_month_does_not_say_whether_the_day_comes_first():
    months, days = (
        [f"{1 + k % 12:02}/{2023 + k % 2}" for k in range(20)],
        [f"0{1 + k % 9}-0{1 + k % 7}-2024" for k in range(20)],
    )
    found = plan_of(month=months, day=days)[1]
    assert found["month"]["used_as"] == found["day"]["used_as"] == "date"
    assert found["day"]["reason"] == "dates assumed to be day-month-year"


def test_units_gaps_and_codes(rng):
    values = rng.normal(size=60)
    encoder, found = plan_of(
        weight=[f"{v:.2f} kg" for v in 80 + values], gaps=[f"{v:.2f}" if k % 5 else "-" for k, v in enumerate(values)],
        zip=rng.choice(["01234", "00501", "99501"], 60), padded=[f"{k:06d}" for k in rng.choice(999, 60)],
        none=rng.choice(["none", "red", "blue"], 60),
    )  # fmt: skip
    assert [c["used_as"] for c in found.values()] == ["number", "number", "category", "number", "category"]
    assert found["weight"]["reason"] == "unit 'kg' left out" and found["gaps"]["reason"] == "'-' counts as empty"
    assert found["gaps"]["missing"] == 12 and found["gaps"]["features"] == 2 and found["none"]["missing"] == 0
    assert found["zip"]["reason"] == "zeros in front: codes, not numbers"
    row = {"weight": ["79"], "gaps": ["-"], "zip": ["00501"], "padded": ["000001"], "none": ["none"]}
    Z, names = encoder.transform(pd.DataFrame(row))[0], encoder.get_feature_names_out().tolist()
    assert Z[0] == pytest.approx((79 - encoder.mean_[0]) / encoder.scale_[0])
    assert Z[names.index("gaps is missing")] == Z[names.index("zip = 00501")] == Z[names.index("none = none")] == 1
    with pytest.warns(
        UserWarning, match="expected numbers in column 'weight' as in fit, got '170 lb', which counts as"
    ):
        encoder.transform(pd.DataFrame(row | {"weight": ["170 lb"]}))


def test_kinds_as_asked():
    X = pd.DataFrame(
        {"zip": [10, 20, 10, 20, 30, 30], "when": [2001, 2002, 2003, 2001, 2002, 2003], "a": list("uvwxyz")}
    )
    wishes = {"zip": "category", "when": "date", "a": "ignore"}
    for table in (X, X.astype({"when": str})):  # the command line reads what it is asked for as text
        encoder = ColumnEncoder(columns=wishes).fit(table)
        assert [c["used_as"] for c in encoder.columns_] == ["category", "date", "left out"]
        assert encoder.columns_[2]["reason"] == "as asked" and "zip = 10" in encoder.get_feature_names_out()
        days = (encoder.transform(table) * encoder.scale_[0] + encoder.mean_[0])[:, 0] / 86400
        np.testing.assert_allclose(days[1] - days[0], 365)
    with pytest.raises(ValueError, match="expected columns to name columns of X, got \"?'?zop"):
        ColumnEncoder(columns={"zop": "category"}).fit(X)
    with pytest.raises(ValueError, match=r"expected columns\['zip'\] to be one of number, category"):
        ColumnEncoder(columns={"zip": "word"}).fit(X)
    with pytest.raises(ValueError, match="expected numbers in column 'a', as asked, got cells such as 'u'"):
        ColumnEncoder(columns={"a": "number"}).fit(X)


def test_tables_of_other_packages_are_the_same(rng):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    table = pd.DataFrame(
        {
            "size": rng.normal(size=30), "color": rng.choice(["red", "blue"], 30), "flag": rng.random(30) < 0.5,
            "lasts": pd.to_timedelta(rng.integers(1, 99, 30), unit="h"),
            "when": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 30), unit="D"),
        }
    )  # fmt: skip
    Z = ColumnEncoder().fit_transform(table)
    assert Z.shape[1] > 10
    arrow = pyarrow.Table.from_pandas(table)
    for other in (arrow, polars.from_arrow(arrow), table.astype(object)):
        np.testing.assert_allclose(ColumnEncoder().fit(table).transform(other), Z)
        np.testing.assert_allclose(ColumnEncoder().fit_transform(other), Z)


def test_lists_of_rows_and_of_records_are_tables(rng):
    """Numbers beside words stay numbers: NumPy alone would make words of them, and "nan" of a gap."""
    table = pd.DataFrame({"size": rng.normal(size=40), "color": ["red", "blue"] * 20})
    table.loc[3, "size"] = np.nan
    expected = ColumnEncoder().fit_transform(table)
    for rows in (table.to_numpy().tolist(), tuple(map(tuple, table.to_numpy())), table.to_dict("records")):
        encoder = ColumnEncoder().fit(rows)
        assert [c["used_as"] for c in encoder.columns_] == ["number", "category"]
        np.testing.assert_array_equal(encoder.transform(rows), expected)
    assert encoder.get_feature_names_out()[0] == "size"


def test_times_of_day_and_identifiers_as_objects():
    table = pd.DataFrame(
        {"at": [datetime.time(k % 24, 30) for k in range(60)], "key": [uuid.UUID(int=k) for k in range(60)]}
    )
    encoder = ColumnEncoder().fit(table)
    assert [c["used_as"] for c in encoder.columns_] == ["number", "left out"]
    np.testing.assert_allclose(np.diff(encoder.transform(table)[:24, 0]) * encoder.scale_[0], 1.0)


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, (1,), b"ab", np.arange(3)])
def test_cells_of_other_kinds_may_be_left_out(cell):
    table = pd.DataFrame({"size": np.arange(20) % 7, "z": [cell] * 19 + [None]})
    with pytest.raises(TypeError, match=r"in column 'z', got \w+; .*columns=\{'z': 'ignore'\}"):
        ColumnEncoder().fit(table)
    encoder = ColumnEncoder(columns={"z": "ignore"}).fit(table)
    assert encoder.transform(table).shape == (20, 1)
    assert encoder.columns_[1] == {
        "name": "z", "used_as": "left out", "reason": "as asked", "missing": 1, "features": 0
    }  # fmt: skip


def test_numbers_with_more_digits_than_floats_have():
    """What is said of them is true, and a number beyond all floats is a sentence."""
    _, found = plan_of(account=[10**30 + k for k in range(50)], size=np.arange(50) % 7)
    assert found["account"]["reason"] == "the same in all rows in the 15 digits that are read"
    far = pd.DataFrame({"a": [1.0, 2.0, 3.0], "z": [1e200, -2e200, 0.0]})
    for table, name in ((far, "z"), (far.to_numpy(), "x1")):  # else its scale would be infinite, and the column gone
        with pytest.raises(ValueError, match=f"expected numbers below 1e150 in column '{name}', got 2e.200; divide"):
            ColumnEncoder().fit(table)
    with pytest.raises(ValueError, match="expected numbers below 1e308 in column 'z', got a larger one; divide"):
        plan_of(z=[10**400, 1] * 10)


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


def test_names_and_wishes_that_a_table_cannot_meet(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for estimator in (AutoSVC(), ColumnEncoder()):
        with pytest.raises(ValueError, match="expected different column names, got 'a' twice; rename one"):
            estimator.fit(pd.DataFrame(X, columns=["a", "a"]), y)
    for estimator in (AutoSVC(columns={"a": "number"}), ColumnEncoder(columns={"a": "number"})):
        with pytest.raises(ValueError, match="expected X to be a table for columns="):
            estimator.fit(X, y)


def test_messages():
    for X, said in ((TABLE["size"], r"single column; pass X.to_frame\(\)"), (TABLE[:1], "at least 2 rows, got n_s")):
        with pytest.raises(ValueError, match=said):
            AutoSVC().fit(X, ["a", "b", "a", "b"][: len(X)])
    encoder = ColumnEncoder().fit(TABLE)
    with pytest.raises(ValueError, match="expected numbers in column 'size' as in fit, got 'big'"):
        encoder.transform(TABLE.astype(object).assign(size="big"))
    with pytest.raises(ValueError, match=r"got infinity in row 0, column 1 \(1 such value\)"):
        ColumnEncoder().fit([[1.0, np.inf], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"got NaN in row 2, column 1 \(2 such values\)"):
        ColumnEncoder().fit(sp.csr_array([[1.0, 0.0], [0.0, 0.0], [0.0, np.nan], [np.inf, 1.0]]))
    with pytest.raises(ValueError, match="expected finite numbers in column 'size', got infinity in row 0"):
        encoder.transform(TABLE.assign(size=np.inf))
    with pytest.raises(ValueError, match="scaling"):
        ColumnEncoder("columns").fit(TABLE)


# --- new rows that are written in another way than those of fit ---


def test_a_column_in_another_notation_is_told_with_its_cells():
    """One cell may be a typo; most cells are not."""
    hours = pd.DataFrame({"time": [f"{k / 2} min" for k in range(1, 21)], "x": np.arange(20) % 7})
    encoder = ColumnEncoder().fit(hours)
    found = hours.assign(time=hours["time"].str.replace("min", "hours"))
    said = "got '0.5 hours' (20 such cells of 20), which count as empty; write the column as in fit"
    with pytest.warns(UserWarning, match=re.escape(said)):
        encoder.transform(found)
    found["time"] = ["9 hours", "8 hours", *hours["time"][2:]]
    with pytest.warns(UserWarning, match=re.escape("(2 such cells of 20), which count as empty; correct it if it is")):
        encoder.transform(found)


def test_words_that_are_new_in_most_cells_are_told(recwarn):
    """A model that knows male and female learns nothing from M and F; a few new words are no reason to worry."""
    sex = pd.DataFrame({"sex": ["male", "female"] * 10, "x": np.arange(20) % 7})
    encoder = ColumnEncoder().fit(sex)
    encoder.transform(sex.assign(sex=["M", "F", None, *sex["sex"][3:]]))
    assert not recwarn
    said = "expected words in column 'sex' as in fit ('female', 'male'), got 'M' and such in 19 of 19 cells"
    with pytest.warns(UserWarning, match=re.escape(said)):
        encoder.transform(sex.assign(sex=["M", "F", None, *["M"] * 17]))


def test_words_that_are_new_beside_rare_ones(recwarn):
    """Where rare words count as one, so do new ones, unless there are no others."""
    words = [*["often"] * 80, *["too"] * 80, *[f"w{k}" for k in range(40)]]
    encoder = ColumnEncoder().fit(pd.DataFrame({"word": words, "x": np.arange(200) % 7}))
    assert "the others count as one" in encoder.columns_[0]["reason"]
    new = pd.DataFrame({"word": ["new", "newer"] * 10, "x": np.arange(20)})
    encoder.transform(new[:9])
    encoder.transform(new.assign(word=["often", *new["word"][1:]]))
    assert not recwarn
    with pytest.warns(UserWarning, match="in 20 of 20 cells"):
        encoder.transform(new)
