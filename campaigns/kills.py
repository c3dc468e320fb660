"""Commands that are killed: what was at the names they write to is still there, or the new file is, whole.

    python -m campaigns.kills 200 [--seed 1] [--count]

A command is sent SIGTERM, SIGKILL or SIGINT, one half of the time at any moment, the other half some milliseconds after
it has opened a file for writing. Before that the names that it writes to hold another file, or none. At the end the
long command runs once more: the cells that it goes on with must be those of a run that nobody stopped.
"""

import argparse
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import BinaryIO

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from . import counts

COMMANDS = {
    "fit": ("fit rows.csv --C 1 --gamma 0.1 --out out.pm", ["out.pm"]),
    "predict": ("predict model.pm rows.csv --out out.csv", ["out.csv"]),
    "report": ("report model.pm rows.csv --out out.html", ["out.html"]),
    "explain": ("explain model.pm rows.csv --out out.png", ["out.png"]),
    "embed": ("embed rows.csv --out out.csv --picture out.svg", ["out.csv", "out.svg"]),
    "compare": ("compare rows.csv --folds 2 --rows 45 --out out.png", ["out.png"]),
    "demo": ("demo --out out.html", ["out.html"]),
    "tune": ("tune rows.csv --folds 2", []),
    "evaluate": ("evaluate model.pm rows.csv", []),
    "bench": ("bench", []),
    "reproduce": ("reproduce kesler --table 2 --fast --out papers", ["papers"]),
}
LOADED = ("pandas", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "sklearn.model_selection",
          "sklearn.datasets", "sklearn.pipeline", "polymargin.cli", "polymargin.auto", "polymargin.report.facts",
          "polymargin.report.pictures", "polymargin.manifold", "polymargin.inspection", "polymargin.papers.command",
          "polymargin.papers.kesler")  # fmt: skip
FORMER = b"what was there before"


def prepare(folder: Path) -> None:
    """Rows and a model of them."""
    import pandas as pd
    from sklearn.datasets import load_iris

    from polymargin import AutoSVC, save_model

    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_csv(folder / "rows.csv", index=False)
    save_model(AutoSVC(C=1.0, gamma=0.1).fit(frame.drop(columns="y"), y), folder / "model.pm")


def whole(path: Path) -> bool:
    """Whether a file is complete."""
    from polymargin import load_model

    data = path.read_bytes()
    if path.suffix == ".pm":
        return load_model(path) is not None
    if path.suffix == ".json":
        return bool(json.loads(data))
    if path.suffix == ".csv":
        lines = data.decode().split("\n")
        return lines[-1] == "" and len({line.count(",") for line in lines[:-1] if '"' not in line}) == 1
    return data.rstrip().endswith({".html": b"</html>", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}[path.suffix])


def broken(folder: Path, names: list[str], former: bool) -> list[str]:
    """Files under the names of a command that are neither the previous ones nor whole."""
    found = []
    for name in names:
        path = folder / name
        inside = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path]
        for file in inside:
            if file.name.startswith("."):  # what a killed process could not remove, under another name
                continue
            if not file.exists():
                found += [f"{file.name} is gone"] if former and name != "papers" else []
                continue
            try:
                good = file.read_bytes() == FORMER or whole(file)
            except Exception as error:
                good = False
                print(f"{file.name}: {type(error).__name__}: {error}")
            found += [] if good else [f"{file.name} is half a file of {file.stat().st_size} bytes"]
    return found


def start(line: str, folder: Path) -> tuple[int, BinaryIO]:
    """A command in a fork, which need not load the packages, and the pipe where it says what it does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, os.fdopen(reading, "rb")
    try:
        os.chdir(folder)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)

        def hook(event: str, arguments: tuple) -> None:
            written = event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if written and os.path.realpath(arguments[0]).startswith(os.path.realpath(folder)):
                os.write(writing, b"WRITES\n")

        sys.addaudithook(hook)
        sys.argv = ["polymargin", *line.split()]
        os.write(writing, b"BEGINS\n")
        importlib.import_module("polymargin.cli").main()
    finally:
        os._exit(0)


def once(name: str, folder: Path, rng, seconds: float) -> tuple[bool, list[str]]:
    """Whether a command was stopped in the middle, and what it left broken."""
    line, names = COMMANDS[name]
    former = bool(rng.integers(2))
    for out in map(folder.joinpath, names):
        if out.is_dir() and not former:  # otherwise it goes on with what is there
            shutil.rmtree(out)
        if name != "reproduce":
            out.write_bytes(FORMER) if former else out.unlink(missing_ok=True)
    how = [signal.SIGTERM, signal.SIGKILL, signal.SIGINT][int(rng.integers(3))]
    command, said = start(line, folder)
    wanted = b"WRITES\n" if names and rng.random() < 0.5 else b"BEGINS\n"
    skip = int(rng.integers(8)) if name == "reproduce" and wanted == b"WRITES\n" else 0
    with said:
        for word in said:
            if word == wanted:
                skip -= 1
                if skip < 0:
                    break
        time.sleep(float(rng.uniform(0, 0.02 if wanted == b"WRITES\n" else seconds)))
        stopped = os.waitpid(command, os.WNOHANG) == (0, 0)
        if stopped:
            os.kill(command, how)
            os.waitpid(command, 0)
    when = wanted.decode().strip()
    return stopped, [f"{name}, {how.name} at {when}: {found}" for found in broken(folder, names, former)]


def cells(folder: Path) -> dict[str, dict]:
    """The results that a folder of `reproduce` holds, but for times."""
    found = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))}
    return {name: {k: v for k, v in cell["result"].items() if "[s]" not in k} for name, cell in found.items()}


def resumed(folder: Path) -> list[str]:
    """Whether the command that was killed again and again ends with the cells of one that was not."""
    line, (name,) = COMMANDS["reproduce"]
    shutil.copytree(folder / name, folder / "stopped", dirs_exist_ok=True)
    shutil.rmtree(folder / name, ignore_errors=True)
    found = []
    for where in ("stopped", name):
        child, said = start(line.replace(name, where), folder)
        with said:
            said.read()
        os.waitpid(child, 0)
        found.append(cells(folder / where))
    differ = [cell for cell in found[0].keys() | found[1].keys() if found[0].get(cell) != found[1].get(cell)]
    return [f"{cell} is not that of a run that was not stopped" for cell in sorted(differ)] or (
        [] if found[0] else ["reproduce left no cells"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", type=int, help="of commands")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", action="store_true", help="add the numbers to campaigns/counts.json")
    given = parser.parse_args()
    for module in LOADED:
        importlib.import_module(module)
    rng, stopped, found = np.random.default_rng(given.seed), 0, []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if (child := os.fork()) == 0:  # a fit starts threads, which a fork would not have
            prepare(folder)
            os._exit(0)
        os.waitpid(child, 0)
        for k in range(given.number):
            name = list(COMMANDS)[k % len(COMMANDS)]
            early, broke = once(name, folder, rng, seconds=2.0)
            stopped += early
            found += broke
            for said in broke:
                print(said, flush=True)
        found += (differ := resumed(folder))
        print(*(differ or ["reproduce went on to the cells of a run that was not stopped"]), sep="\n")
    print(f"{given.number} commands, {stopped} of them stopped in the middle, {len(found)} findings")
    if given.count:
        counts.add("kills", "commands", given.number, len(found), given.seed)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
