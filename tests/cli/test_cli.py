"""The command line, end to end, on real files: good ones and bad ones."""

import json
import os
import runpy
import signal
import sys
import time

import numpy as np
import pandas as pd
import pytest
from command_lines import run
from ctrl_c import interrupted_program, posix
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris

import polymargin
from polymargin.auto.classifier import REDUCTIONS
from polymargin.machines import MACHINES


def test_fit_says_what_it_chose(folder):
    said = run("fit", "train.csv", "-t", "cultivar", "-o", "again.pm", cwd=folder).stdout
    for word in ("Machine:", "Scaling:", "C =", "Probabilities:", "again.pm"):
        assert word in said


def test_fit_as_json(folder):
    said = run(
        "fit", "train.csv", "-t", "cultivar", "-o", "j.pm", "--json", "--machine", "one-vs-rest", cwd=folder
    ).stdout
    facts = json.loads(said)
    assert facts["classes"] == ["barbera", "barolo", "grignolino"]
    assert facts["rows"] == 89 and facts["C"] > 0 and facts["cv_accuracy"] > 0.9


def test_predict_evaluate_agree(folder):
    run("predict", "wine.pm", "test.csv", "--out", "p.csv", "--probabilities", cwd=folder)
    p, truth = pd.read_csv(folder / "p.csv"), pd.read_csv(folder / "test.csv")["cultivar"]
    assert list(p)[0] == "prediction" and len(p) == len(truth)
    P = p[[f"probability of {c}" for c in ("barbera", "barolo", "grignolino")]].to_numpy()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (np.array(["barbera", "barolo", "grignolino"])[P.argmax(axis=1)] == p["prediction"]).all()
    facts = json.loads(run("evaluate", "wine.pm", "test.csv", "-t", "cultivar", "--json", cwd=folder).stdout)
    assert facts["accuracy"] == pytest.approx((p["prediction"] == truth).mean())
    assert facts["accuracy"] > 0.9
    assert "barolo" in run("evaluate", "wine.pm", "test.csv", "-t", "cultivar", cwd=folder).stdout


def test_columns_in_another_order_and_extra_ones(folder):
    test = pd.read_csv(folder / "test.csv")
    test[test.columns[::-1]].assign(note="x").to_csv(folder / "turned.csv", index=False)
    run("predict", "wine.pm", "turned.csv", "-o", "p1.csv", cwd=folder)
    run("predict", "wine.pm", "test.csv", "-o", "p2.csv", cwd=folder)
    assert (folder / "p1.csv").read_text() == (folder / "p2.csv").read_text()


def test_explain(folder):
    facts = json.loads(run("explain", "wine.pm", "test.csv", "--top", "5", "--json", cwd=folder).stdout)
    assert len(facts["features"]) == 5
    run("explain", "wine.pm", "test.csv", "--out", "bars.png", cwd=folder)
    assert (folder / "bars.png").read_bytes().startswith(b"\x89PNG")
    run("explain", "wine.pm", "test.csv", "--top", "2", "--out", "two.svg", cwd=folder)
    run("explain", "wine.pm", "test.csv", "--top", "9", "--out", "nine.svg", cwd=folder)
    two, nine = ((folder / name).read_text() for name in ("two.svg", "nine.svg"))
    assert [facts["features"][k]["name"] in nine for k in (0, 4)] == [True, True]
    assert [facts["features"][k]["name"] in two for k in (0, 4)] == [True, False]


def test_a_report_on_training_rows_says_so(folder):
    words = ("-t", "cultivar", "-o", "r.html")
    told = run("report", "wine.pm", "train.csv", *words, cwd=folder).stderr
    assert "these scores are too optimistic. The model was trained on these rows." in " ".join(told.split())
    assert "These scores are too optimistic" in (folder / "r.html").read_text()
    assert "too optimistic" not in run("report", "wine.pm", "test.csv", *words, cwd=folder).stderr


def test_scores_on_training_rows_say_so(folder):
    words = ("-t", "cultivar")
    assert "The model was trained on these rows." in run("evaluate", "wine.pm", "train.csv", *words, cwd=folder).stderr
    assert not run("evaluate", "wine.pm", "test.csv", *words, cwd=folder).stderr
    facts = json.loads(run("evaluate", "wine.pm", "train.csv", *words, "--json", cwd=folder).stdout)
    assert facts["seen"] == "The model was trained on these rows."


def test_tune(folder):
    facts = json.loads(run("tune", "train.csv", "-t", "cultivar", "--json", cwd=folder).stdout)
    assert facts["cv_accuracy"] > 0.9
    other = json.loads(
        run("tune", "train.csv", "-t", "cultivar", "--method", "criterion-I", "--json", cwd=folder).stdout
    )
    assert other["C"] > 0 and other["gamma"] > 0


def test_embed(folder):
    run("embed", "train.csv", "-t", "cultivar", "-o", "e.csv", "--picture", "e.png", cwd=folder)
    frame = pd.read_csv(folder / "e.csv")
    assert list(frame) == ["component 1", "component 2", "cultivar", "held out"]
    assert 0.2 < frame["held out"].mean() < 0.4 and np.isfinite(frame.iloc[:, :2]).all(axis=None)
    assert (folder / "e.png").read_bytes().startswith(b"\x89PNG")
    run("embed", "train.csv", "-t", "cultivar", "-o", "f.csv", "--drop", "ash", "--as", "strong=ignore", cwd=folder)
    assert (folder / "f.csv").read_text() != (folder / "e.csv").read_text()
    assert (
        "expected a column 'ashes'"
        in run("embed", "train.csv", "-t", "cultivar", "--drop", "ashes", cwd=folder, code=1).stderr
    )


def test_compare(folder):
    said = run(
        "compare", "train.csv", "-t", "cultivar", "--rows", "60", "--folds", "3", "--json", "-o", "c.png",
        "--only", "flavanoids", "--only", "color_intensity", "--only", "proline", cwd=folder,
    )  # fmt: skip
    facts = json.loads(said.stdout)
    assert {m["machine"] for m in facts["machines"]} == {*REDUCTIONS, *MACHINES}
    assert all(m["accuracy"] > 0.8 and m["support_vectors"] > 0 for m in facts["machines"])
    assert said.stderr.split("\n")[:-1] == [f"{m['machine']}: accuracy {m['accuracy']:.4f}" for m in facts["machines"]]
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")


def test_rows_of_a_group_stay_together(tmp_path):
    """Three copies of every row and labels by chance: who sees a copy knows the label."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("abc")).assign(y=rng.integers(0, 2, 30), who=range(30))
    pd.concat([table] * 3).to_csv(tmp_path / "copies.csv", index=False)
    alone = json.loads(run("tune", "copies.csv", "--drop", "who", "--folds", 3, "--json", cwd=tmp_path).stdout)
    words = ("copies.csv", "--groups", "who", "--folds", 3, "--json")
    together = json.loads(run("tune", *words, cwd=tmp_path).stdout)
    assert alone["cv_accuracy"] > 0.95 and together["cv_accuracy"] < 0.85
    compared = json.loads(run("compare", *words, cwd=tmp_path).stdout)
    assert all(m["accuracy"] < 0.85 for m in compared["machines"])
    for more, message in (
        (("--folds", 31), "expected at least 31 groups for 31 folds, got 30; lower --folds"),
        (("--method", "criterion-I"), "expected --method grid with --groups, got criterion-I"),
    ):
        assert message in run("tune", "copies.csv", "--groups", "who", *more, cwd=tmp_path, code=1).stderr


def test_other_formats(tmp_path):
    X, y = load_iris(return_X_y=True)
    np.savez(tmp_path / "iris.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(tmp_path / "iris.svm"), zero_based=False)
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_parquet(tmp_path / "iris.parquet")
    for name in ("iris.npz", "iris.svm", "iris.parquet"):
        run("fit", name, "-o", "m.pm", "--C", 10, "--gamma", 0.5, cwd=tmp_path)
        facts = json.loads(run("evaluate", "m.pm", name, "--json", cwd=tmp_path).stdout)
        assert facts["accuracy"] > 0.95


BAD = {
    "no such file": (("fit", "none.csv"), "expected a file at none.csv, got none"),
    "no target": (("fit", "train.csv"), "; name the one with the labels (--target)"),
    "a row to embed": (
        ("embed", "pair.csv", "-t", "cultivar"),
        "expected at least 2 rows that are not held out, got 1",
    ),
    "a class with one row": (
        ("compare", "lone.csv", "-t", "cultivar", "--folds", "3"),
        "rows of every class for 3 folds, got 1 of 'barbera'; remove the class",
    ),
    "a class with few rows": (
        ("compare", "train.csv", "-t", "cultivar", "--folds", "40"),
        "for 40 folds, got 24 of 'barbera'; use --folds 24, or remove the class",
    ),
    "no such column": (
        ("fit", "train.csv", "-t", "grape"),
        "expected the target column 'grape', got the columns",
    ),
    "not a class": (("fit", "train.csv", "-t", "proline"), "different values in 89 rows; if 'proline' is a number"),
    "decimals": (("fit", "train.csv", "-t", "alcohol"), "different numbers, some with decimals (11.45); group them"),
    "no folder": (("fit", "train.csv", "-t", "cultivar", "-o", "no/m.pm"), "for --out to exist, got none"),
    "no such machine": (("fit", "train.csv", "-t", "cultivar", "--machine", "keslr"), 'did you mean "kesler"'),
    "no model": (("predict", "none.pm", "test.csv"), "expected a model at none.pm, got no file"),
    "not a model": (("predict", "train.csv", "test.csv"), "train.csv"),
    "missing column": (("predict", "wine.pm", "few.csv"), "columns of the training data, got no"),
    "unknown label": (("evaluate", "wine.pm", "strange.csv", "-t", "cultivar"), "expected labels that the model knows"),
    "one class": (("fit", "one.csv", "-t", "cultivar"), "expected at least 2 classes in the target"),
    "text among numbers": (("fit", "text.csv", "-t", "cultivar"), "line 12: expected a number in column 'alcohol'"),
    "ragged": (("fit", "ragged.csv", "-t", "cultivar"), "line 90: expected 15 fields as in the header, got 2"),
    "no method": (("tune", "train.csv", "-t", "cultivar", "--method", "magic"), "expected --method to be one of"),
}


def test_a_table_as_spreadsheets_write_it(tmp_path, seed):
    """Byte order mark, semicolons, decimal commas, dates, row numbers with and without a name, one value throughout."""
    rng = np.random.default_rng(seed)
    names = np.array(["très bon", "assez mauvais"])
    lines = ["\ufeff;nombre;poids;jour;rien;classe"]
    for i in range(40):
        weight = "" if i % 9 == 5 else f"{3 * (i < 20) + 0.3 * rng.normal():.3f}".replace(".", ",")
        lines.append(f"{i};{i + 1};{weight};2021-01-{1 + i % 28:02d};7;{names[int(i < 20)]}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run("fit", "t.csv", "-t", "classe", "--C", 1, "--gamma", 0.1, "--json", cwd=tmp_path)
    assert "first column has no name" in done.stderr and "left out 'nombre': whole numbers from 1 to 40" in done.stderr
    facts = json.loads(done.stdout)
    used = {c["name"]: c["used_as"] for c in facts["table"]}
    assert used == {"nombre": "left out", "poids": "number", "jour": "date", "rien": "left out"}
    assert facts["table"][1]["reason"] == "decimal comma"
    assert facts["columns"] == 4 and facts["classes"] == sorted(names) and facts["cv_accuracy"] > 0.8
    told = json.loads(run("explain", "model.pm", "t.csv", "--json", cwd=tmp_path).stdout)
    assert {f["name"] for f in told["features"]} >= {"poids", "poids is missing", "jour"}
    run("predict", "model.pm", "t.csv", cwd=tmp_path)
    assert set(pd.read_csv(tmp_path / "predictions.csv")["prediction"]) == set(names)
    assert "left out 'nombre'" in run("embed", "t.csv", "-t", "classe", cwd=tmp_path).stderr


@pytest.fixture(scope="module")
def bad(folder):
    train = pd.read_csv(folder / "train.csv")
    train[["alcohol", "ash"]].to_csv(folder / "few.csv", index=False)
    train.assign(cultivar=np.where(np.arange(len(train)) == 3, "merlot", train["cultivar"])).to_csv(
        folder / "strange.csv", index=False
    )
    train[train["cultivar"] == "barolo"].to_csv(folder / "one.csv", index=False)
    train.iloc[[0, -1]].to_csv(folder / "pair.csv", index=False)
    train[:-23].to_csv(folder / "lone.csv", index=False)
    train.astype({"alcohol": object}).assign(
        alcohol=lambda t: t["alcohol"].where(np.arange(len(t)) != 10, "strong")
    ).to_csv(folder / "text.csv", index=False)
    text = (folder / "train.csv").read_text().splitlines()
    (folder / "ragged.csv").write_text("\n".join([*text[:-1], "1,2"]) + "\n")
    return folder


@pytest.mark.parametrize("words,message", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence_and_exit_code_1(bad, words, message):
    said = run(*words, cwd=bad, code=1).stderr
    assert message in said
    assert len(said.strip().splitlines()) <= 2


def test_wrong_usage_is_exit_code_2(folder):
    assert "No such command" in run("fits", cwd=folder, code=2).stderr
    assert "No such option" in run("fit", "train.csv", "--tagret", "x", cwd=folder, code=2).stderr
    run("fit", cwd=folder, code=2)


def test_a_module_that_is_run(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["polymargin", "--version"])
    with pytest.raises(SystemExit, match="^0$"):
        runpy.run_module("polymargin.cli", run_name="__main__")
    assert capsys.readouterr() == (f"polymargin {polymargin.__version__}\n", "")


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
@pytest.mark.parametrize(
    "words",
    [
        ("fit", "train.csv", "-t", "cultivar", "--C", 1, "--gamma", 1),
        ("report", "wine.pm", "test.csv", "-t", "cultivar"),
    ],
)
def test_a_file_that_cannot_be_written_in_full_is_not_left_behind(folder, words):
    import resource

    before, limits = sorted(p.name for p in folder.iterdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        said = run(*words, "--out", "full.out", cwd=folder, code=1).stderr
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "File too large" in said
    assert sorted(p.name for p in folder.iterdir()) == before


# Tuning begins: from there on there is a model to leave.
PATIENT = """
from polymargin import cli
from polymargin.auto.tuning import Tuning
run = Tuning.run
Tuning.run = lambda self: (begins(0.5), run(self))[1]
cli.main()
"""


@posix
def test_interrupt_leaves_a_model(tmp_path):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.vstack([X + rng.normal(size=X.shape) for _ in range(4)])
    np.savez(tmp_path / "many.npz", X=X, y=rng.integers(0, 10, len(X)))
    _, said, code = interrupted_program(PATIENT, "fit", "many.npz", "-o", "m.pm", cwd=tmp_path)
    assert code == 130, said
    assert "the model so far is in m.pm" in said
    run("predict", "m.pm", "many.npz", "-o", "p.csv", cwd=tmp_path)


@posix
@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["fit", "train.csv", "-t", "cultivar", "-o", "never.pm"], "polymargin.auto.AutoSVC.fit"),
        (["predict", "wine.pm", "test.csv", "-o", "p.csv"], "polymargin.cli.model.load"),
        (["tune", "train.csv", "-t", "cultivar"], "polymargin.cli.data.labeled"),
    ],
    ids=["fit", "predict", "tune"],
)
def test_interrupt_before_there_is_anything_says_so(folder, words, place, monkeypatch):
    """Before that, and in commands that leave nothing; the signal is a real one."""

    def press(*_):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)

    monkeypatch.setattr(place, press)
    before = sorted(p.name for p in folder.iterdir())
    said = run(*words, cwd=folder, code=130).stderr
    assert said.strip() == "interrupted before there was a result", said
    assert sorted(p.name for p in folder.iterdir()) == before


def test_devices_are_not_replaced(folder):
    before = os.stat(os.devnull)
    said = run("predict", "wine.pm", "test.csv", "-o", os.devnull, cwd=folder, code=1).stderr
    assert "got the device" in said
    assert os.stat(os.devnull).st_rdev == before.st_rdev


def test_warnings_are_sentences(folder):
    done = run("tune", "train.csv", "-t", "cultivar", "--method", "criterion-I", cwd=folder)
    assert "UserWarning" not in done.stderr and ".py" not in done.stderr
    assert "polymargin fit train.csv --target cultivar --machine pairwise --scaling column --C" in done.stdout


def test_a_table_is_not_a_sparse_file(folder):
    dump_svmlight_file(np.eye(4), np.arange(4), str(folder / "other.svm"))
    said = run("predict", "wine.pm", "other.svm", cwd=folder, code=1).stderr
    assert "expected a table with column names" in said


def test_narrow_terminals_show_whole_names(folder):
    done = run("compare", "train.csv", "-t", "cultivar", "--rows", "60", "--folds", "2", cwd=folder, width=80)
    assert "crammer-singer" in done.stdout
