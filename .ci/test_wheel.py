"""What an installed wheel must do by itself, without the repository: run by `make dist` and where wheels are built."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import polymargin

X, y = load_iris(return_X_y=True)


def test_it_is_the_installed_one():
    folder = Path(polymargin.__file__).parent
    assert "site-packages" in folder.parts
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()


@pytest.mark.parametrize(
    "name", ["JointSVC", "PairwiseSVC", "OneVsRestSVC", "OutputCodeSVC", "CoreVectorSVC", "LandmarkSVC"]
)
def test_machines_learn(name):
    assert getattr(polymargin, name)(C=10).fit(X, y).score(X, y) > 0.9


def test_files_and_pictures(tmp_path):
    model = polymargin.JointSVC(C=10).fit(X, y)
    again = polymargin.load_model(polymargin.save_model(model, tmp_path / "iris.pm"))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    polymargin.SensitivityDisplay.from_estimator(model, X, y).figure_.savefig(tmp_path / "bars.png")


def test_the_command(tmp_path):
    rows = "\n".join(",".join(map(str, (*x, c))) for x, c in zip(X, y, strict=True))
    (tmp_path / "iris.csv").write_text("a,b,c,d,y\n" + rows + "\n")
    for arguments in ("fit iris.csv --target y --out iris.pm", "report iris.pm iris.csv --target y --out iris.html"):
        subprocess.run([sys.executable, "-m", "polymargin.cli", *arguments.split()], cwd=tmp_path, check=True)
    assert "<html" in (tmp_path / "iris.html").read_text()
