"""Strange command lines: each ends with one of the documented exit codes, and with a sentence where it fails."""

import contextlib
import io
import os
import sys
from pathlib import Path

from .changes import CELLS, pick
from .files import Trial, training_data, write_tables

CODES = (0, 1, 2, 130)
COMMANDS = ["fit", "predict", "evaluate", "explain", "report", "tune", "embed", "compare", "reproduce"]
OFTEN = 8 * COMMANDS[:-2] + COMMANDS[-2:]  # `compare` searches for every machine, which takes seconds
ARGUMENTS = {"fit": 1, "tune": 1, "embed": 1, "compare": 1, "reproduce": 1}  # two for all others: a model, and rows
WORDS = ["", "-", "--", "y", "tree", "a", "auto", "pairwise", "scatter", "core-vector", "ovr", "linear", "rbf", "poly",
         "0", "-1", "1", "2", "7", "1e-9", "1e9", "nan", "inf", "-inf", "1e999", "9" * 30, "a=number", "tree=text",
         "b=category", "=", "a=", "=x", "y=ignore", "ash=2", "0=3", "0=nan", "0=-1", "[/]", "[bold", "[red]x[/red]",
         "\udcff", "é", "%s", "{}", "\x1b[31m", "..", "/dev/null", "/dev/full", "/", "/nowhere/x.csv", "picture.png",
         "picture.svg", "picture.xyz", "out.csv", "out", "grid", "criterion-I", "criterion-II", "column",
         "common"]  # fmt: skip
ALL = ["evaluate model.pm comma.csv", "report model.pm comma.csv --out report.html", "evaluate model.pm none.parquet",
       "tune rows.npz --method criterion-I", "explain model.pm comma.csv --out p.svg",
       "embed comma.csv --picture p.png"]  # fmt: skip


def write(folder: Path) -> None:
    """Tables, a model of one of them, and files that are neither."""
    import pandas as pd

    from polymargin import AutoSVC, JointSVC, save_model

    write_tables(folder)
    X, y = training_data()
    table = pd.read_csv(folder / "comma.csv")
    save_model(AutoSVC(C=1.0, gamma=0.3).fit(table.drop(columns="y"), table["y"]), folder / "model.pm")
    save_model(JointSVC().fit(X, y), folder / "other.pm")
    (folder / "costs.csv").write_text("class,0,1,2\n0,0,1,5\n1,1,0,1\n2,9,1,0\n")
    (folder / "broken.csv").write_bytes(b"a,b\n\x00,\xff\n1\n")
    (folder / "broken.pm").write_bytes(b"PK\3\4")


class Commands:
    """Commands with any arguments and options, of which most exist."""

    write = staticmethod(write)

    def __init__(self, folder: Path, scratch: Path):
        from typer.main import get_command

        from polymargin import cli

        self.folder, self.scratch, self.main = folder, scratch, cli.main
        commands = get_command(cli.app).commands
        self.options = {name: [o for p in commands[name].params for o in p.opts if o[:1] == "-"] for name in COMMANDS}
        self.flags = {
            o for name in COMMANDS for p in commands[name].params if getattr(p, "is_flag", False) for o in p.opts
        }
        self.tables = [path.name for path in sorted(folder.iterdir()) if path.suffix != ".pm"]
        self.models = ["model.pm"] * 4 + ["other.pm", "broken.pm", "none.pm"]

    def warm(self) -> None:
        for command in ALL:
            assert (found := self.trial(command.split()).run()) is None, found

    def value(self, rng, option: str) -> str:
        if option in ("--target", "-t") and rng.random() < 0.8:
            return pick(rng, ["y", "y", "tree"])
        if option == "--costs" and rng.random() < 0.7:
            return "costs.csv"
        words = [*WORDS, *self.tables, *(cell.replace("\0", "") for cell in CELLS)]
        return str(pick(rng, words))

    def words(self, rng) -> list[str]:
        command = str(pick(rng, OFTEN))
        given = [str(pick(rng, self.models))] if command not in ARGUMENTS else []
        given.append(str(pick(rng, [*self.tables, "comma.csv", "comma.csv", "comma.csv", "-", "none.csv"])))
        if command == "reproduce":  # a real one takes hours
            given = [str(pick(rng, ["kesler", *WORDS])), "--table", str(pick(rng, ["99", *WORDS]))]
            return [command, *(given if given[2] not in "1234567" else [given[0], "--table", "99"])]
        for _ in range(int(rng.integers(4))):
            option = str(pick(rng, self.options[command]))
            given += [option] if option in self.flags else [option, self.value(rng, option)]
        if rng.random() < 0.1:
            given.insert(int(rng.integers(len(given) + 1)), self.value(rng, ""))
        if rng.random() < 0.05:
            given.pop(int(rng.integers(len(given))))
        return [command, *given]

    def ended(self, words: list[str]) -> str | None:
        """How a command ended, if not as documented."""
        said, former = io.StringIO(), (sys.argv, sys.stdin, os.getcwd())
        sys.argv = ["polymargin", *words]
        sys.stdin = io.TextIOWrapper(io.BytesIO((self.folder / "comma.csv").read_bytes()))
        os.chdir(self.scratch)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                self.main()
        except SystemExit as end:
            if end.code not in CODES:
                return f"exit code {end.code}"
            told = said.getvalue()
            if "Traceback" in told or (end.code and not told.strip()):
                return f"exit code {end.code} and {told[-200:]!r}"
        finally:
            sys.argv, sys.stdin, folder = former
            os.chdir(folder)
        return None

    def draw(self, rng, k: int) -> Trial:
        return self.trial(self.words(rng))

    def trial(self, words: list[str]) -> Trial:
        def run() -> str | None:
            for path in self.folder.iterdir():  # what a former one may have written over
                (self.scratch / path.name).write_bytes(path.read_bytes())
            return self.ended(words)

        return Trial(words[0], repr(words).encode(errors="backslashreplace"), run)
