"""What the command line prints about odd tables."""

import numpy as np
import pandas as pd
from command_lines import run

from polymargin import cli


def test_wide_tables_and_long_names_leave_room(tmp_path, rng):
    """Of 60 columns of numbers the first five; a name as long as the screen is wide takes half of it."""
    wide = pd.DataFrame(rng.normal(size=(20, 60)), columns=[f"gene {j}" for j in range(60)]).assign(y=["a", "b"] * 10)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    said = run("fit", "wide.csv", "--C", "1", "--gamma", "0.1", cwd=tmp_path).stdout
    assert said.startswith("60 columns") and "gene 4 " in said and "gene 5 " not in said and "55 more" in said
    name = "a column name that goes on and on until nothing else fits beside it on the screen of anybody"
    wide[["gene 0", "y"]].rename(columns={"gene 0": name}).to_csv(tmp_path / "long.csv", index=False)
    said = run("fit", "long.csv", "--C", "1", "--gamma", "0.1", cwd=tmp_path).stdout
    assert said.startswith("1 column\n") and "number" in said and "features" in said
    shown = [line.split("│")[1].strip() for line in said.splitlines() if "│" in line]
    assert " ".join(shown).split() == name.split()


def test_fewer_dimensions_than_asked_are_said(tmp_path):
    table = pd.DataFrame({"x": np.arange(20.0), "y": ["a", "b"] * 10})
    table.to_csv(tmp_path / "line.csv", index=False)
    said = run("embed", "line.csv", "--as", "x=number", "--components", "30", cwd=tmp_path).stdout
    assert "dimensions instead of 30, because the distances have no more, written to embedding.csv" in said


def test_choices_are_wrapped_at_blanks_on_a_screen_alone(tmp_path, monkeypatch, rng):
    """A terminal would cut words in two; what goes to a file stays one line per choice."""
    pd.DataFrame({"x": rng.normal(size=20), "y": ["a", "b"] * 10}).to_csv(tmp_path / "t.csv", index=False)
    words = ("fit", "t.csv", "--C", "1", "--gamma", "0.1")
    whole = [line for line in run(*words, cwd=tmp_path, width=50).stdout.splitlines() if line.startswith("•")]
    monkeypatch.setattr(cli.terminal.out, "_force_terminal", True)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = run(*words, cwd=tmp_path, width=50).stdout
    lines = shown[shown.index("•") : shown.index("Trained")].splitlines()
    assert max(map(len, whole)) > 50 >= max(map(len, lines)) and len(lines) > len(whole)
    assert all(line.startswith(("• ", "  ")) for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(whole).split())
