"""Options of the commands: what is asked is done and said, or refused in one sentence."""

import gzip
import html
import io
import json
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from command_lines import run
from sklearn.model_selection import StratifiedKFold

import polymargin
from polymargin import KernelSearchCV
from polymargin.auto.tables import ColumnEncoder
from polymargin.auto.task import machine_named, particulars


def test_what_tune_prints_gives_the_model_that_it_means(folder):
    """The words of `tune`, run as they are: the same numbers, on the same encoded rows."""
    done = run("tune", "train.csv", "-t", "cultivar", "--drop", "hue", "--as", "ash=number", "--folds", 3, cwd=folder)
    words = shlex.split(done.stdout.partition("Use them: polymargin ")[2])
    said = run(*words, "-o", "tuned.pm", cwd=folder).stdout
    tuned, table = polymargin.load_model(folder / "tuned.pm"), pd.read_csv(folder / "train.csv")
    X, y = table.drop(columns=["cultivar", "hue"]), table["cultivar"].to_numpy()
    options = dict(zip(words[2::2], words[3::2], strict=True))
    assert tuned.best_params_ == {"C": float(options["--C"]), "gamma": float(options["--gamma"])}
    Z = ColumnEncoder("column").fit_transform(X)
    meant = polymargin.PairwiseSVC(**tuned.best_params_).fit(Z, y)
    np.testing.assert_allclose(tuned.decision_function(X), meant.decision_function(Z), atol=1e-5)
    score = float(done.stdout.partition("cv_accuracy")[2].split()[1])
    assert f"as asked, accuracy {score:.4f} in 3 folds of {len(y)} rows" in said
    assert "best of the grid" not in said and "Scaling: column, as asked" in said


def test_what_tune_prints_of_lone_rows_and_of_names_like_options(folder, rng):
    """Rows of a class of their own cannot be tested; a column may be called --drop."""
    y = np.repeat([*"ab"], 12)
    table = pd.DataFrame({"--drop": rng.normal(size=24), "-x": rng.normal(size=24) + (y == "a"), "-t": y})
    table.loc[0, "-t"] = "lone"
    table.to_csv(folder / "odd.csv", index=False)
    words = ("odd.csv", "--target=-t", "--drop=--drop", "--as=-x=number", "--seed", 1)
    done = run("tune", *words, cwd=folder)
    again = shlex.split(done.stdout.partition("Use them: polymargin ")[2])
    said = run(*again, "-o", "odd.pm", cwd=folder).stdout
    score = float(done.stdout.partition("cv_accuracy")[2].split()[1])
    assert f"as asked, accuracy {score:.4f} in 5 folds of 23 rows" in said and "5 folds of 23 rows" in done.stdout
    assert "least populated" not in done.stderr
    table[:3].to_csv(folder / "few.csv", index=False)
    refused = run("tune", "few.csv", "--target=-t", cwd=folder, code=1).stderr
    assert "few.csv: expected two classes with at least 2 rows each to tune with, got fewer" in refused


@pytest.mark.parametrize("machine", ["core-vector", "landmarks"])
def test_what_tune_prints_of_machines_with_choices_of_their_own(folder, machine):
    """How core vectors treat classes, and the seed of samples, are those of `fit`."""
    done = run("tune", "train.csv", "-t", "cultivar", "--machine", machine, "--folds", 2, "--seed", 3, cwd=folder)
    words = shlex.split(done.stdout.partition("Use them: polymargin ")[2])
    assert words[-4:] == ["--folds", "2", "--seed", "3"]
    said = run(*words, "-o", "tuned.pm", cwd=folder).stdout
    tuned, table = polymargin.load_model(folder / "tuned.pm"), pd.read_csv(folder / "train.csv")
    X, y = table.drop(columns="cultivar"), table["cultivar"].to_numpy()
    Z = ColumnEncoder("column").fit_transform(X)
    meant = machine_named(machine, **tuned.best_params_, **particulars(machine, 3, 3)).fit(Z, y)
    np.testing.assert_allclose(tuned.decision_function(X), meant.decision_function(Z), atol=1e-5)
    search = KernelSearchCV(meant, C=[tuned.best_params_["C"]], gamma=[tuned.best_params_["gamma"]], refit=False,
                            cv=StratifiedKFold(2, shuffle=True, random_state=3)).fit(Z, y)  # fmt: skip
    assert f"{search.best_score_:.6g}" in done.stdout and f"accuracy {search.best_score_:.4f} in 2 folds" in said


@pytest.mark.parametrize("asked", [["--balanced"], ["--weights", "barolo=5", "--weights", "barbera=0.5"]])
def test_what_tune_prints_of_weights(folder, asked):
    """The same weights in `fit`, which is told the same weighted accuracy."""
    done = run("tune", "train.csv", "-t", "cultivar", "--folds", 3, *asked, cwd=folder)
    words = shlex.split(done.stdout.partition("Use them: polymargin ")[2])
    assert " ".join(asked) in " ".join(words)
    score = float(done.stdout.partition("cv_weighted_accuracy")[2].split()[1])
    assert f"as asked, weighted accuracy {score:.4f} in 3 folds" in run(*words, "-o", "tuned.pm", cwd=folder).stdout


@pytest.mark.parametrize(
    "asked, said",
    [
        (["--balanced", "--weights", "barolo=2"], "expected --weights or --balanced, got both"),
        (["--weights", "merlot=2"], "with a class among barbera, barolo, grignolino, got 'merlot=2'"),
        (["--balanced", "--method", "criterion-I"], "expected --method grid with --balanced or --weights"),
    ],
)
def test_weights_that_tune_refuses(folder, asked, said):
    done = run("tune", "train.csv", "-t", "cultivar", *asked, cwd=folder, code=1)
    assert said in done.stderr


def test_what_was_asked_for_is_said_by_fit_and_report(folder):
    groups = ("--groups", "hue", "--drop", "hue")
    asked = ("--C", 1, "--gamma", 0.1, "--kernel", "linear", "--weights", "barolo=2", *groups)
    said = run("fit", "train.csv", "-t", "cultivar", *asked, "-o", "asked.pm", cwd=folder).stdout
    n = pd.read_csv(folder / "train.csv")["hue"].nunique()
    page = run("report", "asked.pm", "test.csv", "-t", "cultivar", "-o", "-", cwd=folder).stdout
    for line in (
        "Kernel: linear, as asked; it has no gamma, so that is not used.",
        "Weights: rows of class 'barolo' by 2, as asked.",
        f"Groups: rows of one group stay together in every fold; there are {n} groups.",
    ):
        assert line in said and line in html.unescape(page)
    few = ("--C", 1, "--gamma", 0.1, "--balanced", "--seed", 2**32 - 1)
    said = run("fit", "train.csv", "-t", "cultivar", *few, "-o", "asked.pm", cwd=folder).stdout
    assert "Weights: the same total for every class, as asked." in said
    assert "--seed" in run("fit", "train.csv", "-t", "cultivar", "--seed", 2**32, cwd=folder, code=2).stderr


def test_groups_with_gaps_are_refused(folder):
    table = pd.read_csv(folder / "train.csv")
    table.assign(who=np.where(table.index % 7 == 0, None, "w")).to_csv(folder / "gaps.csv", index=False)
    gaps = (table.index % 7 == 0).sum()
    said = run("fit", "gaps.csv", "-t", "cultivar", "--groups", "who", cwd=folder, code=1).stderr
    assert f"expected a group in every row, got {gaps} empty cells in column 'who'; fill them in" in said
    two = table[table["cultivar"] != "barolo"]
    two.assign(who=two["cultivar"]).to_csv(folder / "own.csv", index=False)
    words = ("own.csv", "-t", "cultivar", "--groups", "who", "--folds", 2)
    assert "expected folds with two classes to train on, got none" in run("tune", *words, cwd=folder, code=1).stderr


def test_columns_are_shown_and_chosen(folder):
    said = run("fit", "train.csv", "-t", "cultivar", "--C", 1, "--gamma", 0.1, "-o", "c.pm", cwd=folder).stdout
    assert "14 columns" in said and "strong" in said and "category" in said
    few = ("--only", "alcohol", "--only", "strong", "--as", "strong=category", "-o", "c.pm")
    facts = json.loads(run("fit", "train.csv", "-t", "cultivar", *few, "--C", 1, "--json", cwd=folder).stdout)
    assert [c["name"] for c in facts["table"]] == ["alcohol", "strong"]
    for words, message in (
        (("--drop", "alchol"), "expected a column 'alchol', got none; did you mean \"alcohol\"?"),
        (("--as", "alcohol=word"), "expected --as to be COLUMN=number|category|date|text|ignore, got 'alcohol=word'"),
        (("--weights", "merlot=2"), "expected --weights to be CLASS=FACTOR with a class among barbera"),
        (("--weights", "barbera=2", "--weights", "barbera=3"), "got 'barbera' twice; leave one out"),
        (("--groups", "vineyard"), "expected a column 'vineyard' beside the target for --groups, got none"),
        (("--groups", "cultivar"), "expected a column 'cultivar' beside the target for --groups, got none"),
        (("--out", "-"), "expected a file name for --out, got -"),
        (("--kernel", "rbff"), "expected kernel to be one of"),
    ):
        assert message in run("fit", "train.csv", "-t", "cultivar", *words, cwd=folder, code=1).stderr


def parquet(path):
    packed = io.BytesIO()
    pd.read_csv(path).to_parquet(packed)
    return packed.getvalue()


def test_standard_input_and_output(folder, monkeypatch):
    class Pipe:
        buffer = io.BytesIO((folder / "test.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Pipe)
    piped = run("predict", "wine.pm", "-", "-o", "-", cwd=folder).stdout
    run("predict", "wine.pm", "test.csv", "-o", "p.csv", cwd=folder)
    assert piped == (folder / "p.csv").read_text()
    placed = run("embed", "train.csv", "-t", "cultivar", "-o", "-", cwd=folder).stdout
    run("embed", "train.csv", "-t", "cultivar", "-o", "e.csv", cwd=folder)
    assert placed == (folder / "e.csv").read_text()
    for packed in (gzip.compress((folder / "test.csv").read_bytes()), parquet(folder / "test.csv")):
        Pipe.buffer = io.BytesIO(packed)
        assert run("predict", "wine.pm", "-", "-o", "-", cwd=folder).stdout == piped
    Pipe.buffer = io.BytesIO((folder / "test.csv").read_bytes())
    page = run("report", "wine.pm", "-", "-t", "cultivar", "-o", "-", cwd=folder).stdout
    assert page.startswith("<!doctype html>") and "wine on standard input" in page and not (folder / "-").exists()
    Pipe.buffer = io.BytesIO(b"# made by hand\n+1 \n-1 1:1\n+1 2:2.5 # odd\n-1 1:2\n")
    fit = ("fit", "-", "--C", 1, "--gamma", 1, "-o", "piped.pm", "--json")
    assert json.loads(run(*fit, cwd=folder).stdout)["classes"] == [-1, 1]
    Pipe.buffer = io.BytesIO(b"time,y\n2020-01-01 12:30,a\n")
    said = run(*fit, "-t", "z", cwd=folder, code=1).stderr
    assert "standard input: expected the target column 'z', got the columns 'time', 'y'" in said
    Pipe.buffer = io.BytesIO(b"")
    assert (
        "standard input: expected rows, got an empty file"
        in run("predict", "wine.pm", "-", "-o", "-", cwd=folder, code=1).stderr
    )


def test_costs_change_what_is_predicted(folder):
    names = ["barbera", "barolo", "grignolino"]
    costs = pd.DataFrame(1.0 - np.eye(3), index=names, columns=names)
    costs["barolo"] *= 1e6
    costs.to_csv(folder / "costs.csv", index_label="true")
    facts = json.loads(
        run("evaluate", "wine.pm", "test.csv", "-t", "cultivar", "--costs", "costs.csv", "--json", cwd=folder).stdout
    )
    assert sum(row[1] for row in facts["confusion"]) < 5 and facts["mean cost"] < 1e6
    costs.rename(columns={"barolo": "merlot"}).to_csv(folder / "costs.csv", index_label="true")
    said = run("predict", "wine.pm", "test.csv", "--costs", "costs.csv", cwd=folder, code=1).stderr
    assert "expected a row (first column) and a column for each" in said


@pytest.mark.parametrize(
    "costs,message",
    {
        "row": (lambda c: c.iloc[:2], "got no 'grignolino' in the first column"),
        "column": (lambda c: c.iloc[:, 1:], "got no 'barbera' in the first line"),
        "twice": (
            lambda c: pd.concat([c, c.iloc[:1]]),
            "got 'barbera', which is no class or there twice, in",
        ),
        "words": (lambda c: c.astype(object).replace(0.0, "none"), "expected a number in every cell"),
        "gaps": (lambda c: c.replace(0.0, np.nan), "expected a number in every cell"),
        "equal": (lambda c: 0 * c, "expected costs that depend on what is predicted, got rows of equal numbers"),
    }.values(),
)
def test_wrong_costs_are_said(folder, costs, message):
    names = ["barbera", "barolo", "grignolino"]
    costs(pd.DataFrame(1.0 - np.eye(3), index=names, columns=names)).to_csv(folder / "wrong.csv")
    said = run("predict", "wine.pm", "test.csv", "--costs", "wrong.csv", cwd=folder, code=1).stderr
    assert message in said and len(said.splitlines()) == 1


def test_costs_without_a_corner_and_gains(folder):
    """Tables of costs are written with an empty first cell; a table of gains is not one of costs."""
    names = ["grignolino", "barolo", "barbera"]
    costs = pd.DataFrame(1.0 - np.eye(3), index=names, columns=names)
    costs.to_csv(folder / "corner.csv", sep=";", decimal=",")
    done = run("predict", "wine.pm", "test.csv", "--costs", "corner.csv", "-o", "-", cwd=folder)
    assert done.stdout == run("predict", "wine.pm", "test.csv", "-o", "-", cwd=folder).stdout and not done.stderr
    (1 - costs).to_csv(folder / "corner.csv")
    said = run("predict", "wine.pm", "test.csv", "--costs", "corner.csv", cwd=folder).stderr
    assert "correctly costs more than a mistake; are the numbers costs, or gains?" in said


def test_costs_are_a_table_with_names(folder):
    np.savez(folder / "costs.npz", X=1 - np.eye(3))
    said = run("predict", "wine.pm", "test.csv", "--costs", "costs.npz", cwd=folder, code=1).stderr
    assert "expected a table with column names" in said


def test_a_picture_that_cannot_be_written_is_refused_before_the_work(folder):
    said = run("embed", "test.csv", "-t", "cultivar", "--picture", "nowhere/p.png", cwd=folder, code=1).stderr
    assert "nowhere" in said and "create it first" in said and not (folder / "embedding.csv").exists()
