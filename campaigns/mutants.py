"""Mutation testing: one line of the training code is broken at a time, and the nearest tests must notice.

    python -m campaigns.mutants 60 [--seed 1] [--files training/dual.py joint.py] [--seconds 600] [--count]

Operators, comparisons, constants and conditions are changed and statements deleted, in a copy of the package. A first
run without a mutant sees which tests run which lines; of a mutant only those tests are run, the quickest first. What
none of them notices has survived: it is printed with its line. Some are equivalent (they change speed, a message, or
nothing; campaigns/equivalent.py has those that were looked at); the others are gaps in the tests.
"""

import argparse
import ast
import copy
import functools
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

from . import counts
from .equivalent import EQUIVALENT

HOME = Path(__file__).parents[1]
PACKAGE = HOME / "src" / "polymargin"
SECONDS = 120  # of processor time for the tests of one mutant: who runs on has been noticed
# Files of the package, and the tests that are nearest to them, quickest first.
NEAREST = {
    "machines.py": "training/test_machines.py test_oracles.py",
    "kernels.py": "core/test_float32_errors.py core/test_kernel_core.py fitting/test_bad_input.py "
    "fitting/test_indefinite.py test_oracles.py",
    "joint.py": "training/test_joint.py training/test_scatter.py fitting/test_bad_input.py",
    "training/certificates.py": "training/test_claims.py training/test_certificates.py training/test_joint.py",
    "training/equal_rows.py": "training/test_equal_rows.py",
    "training/few_points.py": "training/test_equal_rows.py",
    "training/interior.py": "training/test_interior.py training/test_equal_rows.py",
    "training/face.py": "training/test_equal_rows.py",
    "training/two_classes.py": "training/test_parts.py training/test_two_classes.py training/test_scatter.py",
    "training/linear.py": "training/test_linear.py",
    "training/runs.py": "training/test_claims.py training/test_certificates.py training/test_joint.py",
    "training/": "training/test_parts.py training/test_class_sums.py training/test_interior.py "
    "training/test_certificates.py "
    "training/test_joint.py training/test_linear.py training/test_scatter.py training/test_machines.py "
    "training/test_scatter_symmetry.py training/test_two_classes.py training/test_quick_labels.py "
    "training/test_kesler_solvers.py",
    "reductions/": "reductions/test_output_codes.py reductions/test_biases.py reductions/test_reductions.py "
    "reductions/test_column_values.py reductions/test_reductions_running.py",
    "core_vectors/distributed.py": "core_vectors/test_distributed.py",
    "core_vectors/": "core_vectors/test_enclosing_ball.py core_vectors/test_core_vector.py "
    "core_vectors/test_core_streams.py core_vectors/test_forecast.py",
    "landmarks/": "landmarks/test_landmarks.py landmarks/test_landmark_sources.py",
    "structured/": "structured/test_structured.py",
    "smoothing/": "smoothing/test_grnn.py smoothing/test_kernel_density.py",
    "selection/": "selection/test_criteria.py selection/test_selection.py selection/test_search_cv.py",
    "manifold/": "manifold/test_manifold.py",
    "files/": "files/test_model_file.py files/test_crafted_files.py files/test_readers.py files/test_dialects.py "
    "files/test_whole_files.py",
    "fitting/": "fitting/test_state.py fitting/test_bad_input.py fitting/test_running.py fitting/test_memory.py",
}
LOADED = ["scipy.optimize", "scipy.sparse", "pandas", "cvxpy", "joblib", "threadpoolctl", "rich.progress",
          "sklearn.svm", "sklearn.model_selection", "sklearn.pipeline", "sklearn.datasets", "sklearn.neighbors",
          "sklearn.manifold", "sklearn.utils.estimator_checks"]  # fmt: skip
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def broken(node: ast.AST) -> Iterator[ast.AST]:
    """Every way to break a node."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPS:
        yield type(node)(**{**fields(node), "op": SWAPS[type(node.op)]()})
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [SWAPS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.IfExp | ast.If):
        yield type(node)(**{**fields(node), "test": ast.UnaryOp(ast.Not(), node.test)})
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Assign | ast.AugAssign) or (isinstance(node, ast.Expr) and not is_docstring(node)):
        yield ast.Pass()


def is_docstring(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Constant)


def fields(node: ast.AST) -> dict:
    return dict(ast.iter_fields(node))


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """(parent, field, position or None, node) inside functions; annotations and messages of errors are left alone."""
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        stack: list[ast.AST] = [function]
        while stack:
            parent = stack.pop()
            for field, value in ast.iter_fields(parent):
                if field in ("annotation", "returns", "decorator_list", "args") and parent is function:
                    continue
                for at, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef) or not isinstance(node, ast.AST):
                        continue
                    yield parent, field, at, node
                    stack.append(node)


def mutants(path: Path) -> list[tuple[int, str, Callable[[], str]]]:
    """(line, what it was and is, what writes the whole file) for every mutant of a file."""
    text, found = path.read_text(), []
    tree, lines = ast.parse(text), text.splitlines()
    for parent, field, at, node in places(tree):
        for other in broken(node):
            changed = ast.fix_missing_locations(ast.copy_location(copy.copy(other), node))
            was, now = (ast.unparse(one).splitlines()[0][:60] for one in (node, changed))
            told = f"{lines[node.lineno - 1].strip()[:100]}:  {was}  ->  {now}"
            found.append((node.lineno, told, functools.partial(written, tree, (parent, field, at), node, changed)))
    return found


def written(tree: ast.AST, place: tuple[ast.AST, str, int | None], node: ast.AST, changed: ast.AST) -> str:
    """The program with another node at a place; the tree is left as it was."""
    put(*place, changed)
    text = ast.unparse(tree)
    put(*place, node)
    return text


def put(parent: ast.AST, field: str, at: int | None, node: ast.AST) -> None:
    if at is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[at] = node


def statement(path: Path, line: int) -> range:
    """The lines of the statement that a line is in; of a compound one only its head."""
    within = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
    within = [node for node in within if node.lineno <= line <= (node.end_lineno or line)]
    inner = max(within, key=lambda node: node.lineno)
    body = getattr(inner, "body", None)
    return range(inner.lineno, body[0].lineno if body else (inner.end_lineno or line) + 1)


class Lines:
    """Plugin of pytest: which lines of a package every test runs, and how long it takes.

    What is run before the first test of a module begins is for all tests of that module.
    """

    def __init__(self, package: Path):
        self.package = str(package)
        self.lines: dict[str, set] = defaultdict(set)  # by test, and by module for what is set up
        self.seconds: dict[str, float] = {}

    def watch(self, seen: set):
        def line(frame, event, _):
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            return line

        return lambda frame, *_: line if frame.f_code.co_filename.startswith(self.package) else None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        sys.settrace(self.watch(self.lines[item.nodeid.split("::")[0]]))
        yield
        sys.settrace(None)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        begin = time.process_time()
        sys.settrace(self.watch(self.lines[item.nodeid]))
        yield
        sys.settrace(None)
        self.seconds[item.nodeid] = time.process_time() - begin

    def save(self, path: Path) -> None:
        home = len(self.package) + 1
        by_line: dict[str, dict[int, set]] = defaultdict(lambda: defaultdict(set))
        for test in self.seconds:
            for file, line in self.lines[test] | self.lines[test.split("::")[0]]:
                by_line[file[home:]][line].add(test)
        ordered = {
            file: {line: sorted(tests, key=self.seconds.get) for line, tests in lines.items()}
            for file, lines in by_line.items()
        }
        path.write_text(json.dumps(ordered))


def sources(path: Path) -> list[Path]:
    """A file, or those of a folder that have code to break."""
    within = sorted(path.glob("*.py")) if path.is_dir() else [path]
    return [path for path in within if path.name not in ("__init__.py", "record.py")]


def nearest(path: Path) -> tuple[str, ...]:
    """The tests that are nearest to a file of the package."""
    name = str(path.relative_to(PACKAGE))
    tests = next(tests for start, tests in NEAREST.items() if name.startswith(start))
    return tuple(f"tests/{test}" for test in tests.split())


def noticed(folder: Path, tests: list[str]) -> bool:
    """Whether the tests fail on the package in a folder: in a fork, which has the other packages loaded already."""
    child = os.fork()
    if child == 0:  # nobody handles the signals: the fork ends
        silent = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silent, stream)
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = str(folder)  # of programs that the tests start
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(20 * SECONDS)
        os._exit(int(pytest.main(["-x", *OPTIONS, *tests])))
    return os.waitpid(child, 0)[1] != 0


def arguments(files: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Break a line at a time: do the nearest tests notice?")
    parser.add_argument("number", type=int, help="of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="+", default=files, help="files or folders")
    parser.add_argument("--seconds", type=float, default=1e6, help="after which no other mutant is tried")
    parser.add_argument("--count", action="store_true", help="add the numbers to campaigns/counts.json")
    return parser.parse_args()


class Tally:
    """Mutants that were tried, by the first part of their files' names; how many of them survived is printed."""

    def __init__(self, campaign: str, given: argparse.Namespace):
        self.campaign, self.given, self.end = campaign, given, time.monotonic() + given.seconds
        self.survived: dict[str, list[bool]] = defaultdict(list)

    def full(self) -> bool:
        return sum(map(len, self.survived.values())) >= self.given.number or time.monotonic() > self.end

    def add(self, name: str, line: int, told: str, fate: str | None) -> None:
        """One mutant, and what became of it if no test noticed."""
        reason = EQUIVALENT.get((name, told))
        self.survived[name.split("/")[0]].append(bool(fate and not reason))
        if fate:
            print(f"{f'equivalent ({reason})' if reason else fate}: {name}:{line}: {told}", flush=True)

    def close(self, every: int) -> None:
        tried, survivors = (sum(map(how, self.survived.values())) for how in (len, sum))
        print(f"{tried} mutants of {every:,}, {survivors} survived")
        for part, fates in self.survived.items() if self.given.count else ():
            counts.add(self.campaign, part, len(fates), sum(fates), self.given.seed)


class Session:
    """Plugin of pytest: tests are collected once; the mutants are then tried in forks of the process that has them."""

    def __init__(self, folder: Path, trial: Callable[["Session"], None]):
        self.package, self.trial = folder / "polymargin", trial

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        self.items = {item.nodeid: item for item in session.items}
        self.session = session
        file = self.package.parent / "lines.json"
        if self.fails(list(self.items), lines=file):
            print("these tests fail without a mutant")
            session.testsfailed = 1
            return True
        self.lines = json.loads(file.read_text())
        self.trial(self)
        return True

    def near(self, name: str, path: Path, line: int) -> list[str]:
        """The tests that run the statement of a line, the quickest first."""
        runs = self.lines.get(name, {})
        return list(dict.fromkeys(test for at in statement(path, line) for test in runs.get(str(at), ())))

    def fails(self, tests: list[str], mutant: Callable[[], None] | None = None, lines: Path | None = None) -> bool:
        """Whether tests fail, in a fork, after a mutant has taken its place; a file for `lines` gets what they run."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = self.failed(tests, mutant, lines)
            finally:
                os._exit(code)
        return os.waitpid(child, 0)[1] != 0

    def failed(self, tests: list[str], mutant: Callable[[], None] | None, lines: Path | None) -> int:
        silent = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(silent, stream)
        if mutant:  # nobody handles the signals: the fork ends
            mutant()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(20 * SECONDS)
        plugin, items = Lines(self.package), [self.items[test] for test in tests]
        if lines:
            self.session.config.pluginmanager.register(plugin)
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.session.testsfailed:
                return 1
        if lines:
            plugin.save(lines)
        return 0


def replaced(module: ModuleType, text: str) -> None:
    """Give the functions of a module the code of those of another text, whoever has imported them before."""
    other = dict(vars(module))
    exec(compile(text, str(module.__file__), "exec"), other)
    for name, new in other.items():
        if getattr(new, "__module__", None) == module.__name__:
            replaced_one(vars(module)[name], new, lambda name=name, new=new: setattr(module, name, new))


def replaced_one(old, new, put_new: Callable[[], None]) -> None:
    getattr(old, "cache_clear", bool)()
    for inner in ("__wrapped__", "__func__", "fget", "func"):
        if hasattr(old, inner) and hasattr(new, inner):
            return replaced_one(getattr(old, inner), getattr(new, inner), put_new)
    if isinstance(new, type):
        for name, part in vars(new).items():
            if name in vars(old):
                replaced_one(vars(old)[name], part, lambda name=name, part=part: setattr(old, name, part))
    elif isinstance(new, FunctionType):
        if len(old.__code__.co_freevars) == len(new.__code__.co_freevars):
            old.__code__ = new.__code__
        else:  # it no longer speaks of its class
            put_new()
    return None


def main() -> int:
    given = arguments(list(NEAREST))
    os.chdir(HOME)
    sys.dont_write_bytecode = True
    for name in LOADED:
        importlib.import_module(name)
    paths = {path: nearest(path) for name in given.files for path in sources(PACKAGE / name)}
    every = [(path, *mutant) for path in paths for mutant in mutants(path)]
    rng, tally = np.random.default_rng(given.seed), Tally("mutants", given)

    def trial(session: Session) -> None:
        for path, line, told, write in (every[k] for k in rng.permutation(len(every))):
            if tally.full():
                break
            name, text = str(path.relative_to(PACKAGE)), write()
            near, target = session.near(name, path, line), session.package / name
            module = importlib.import_module("polymargin." + name[:-3].replace("/", "."))
            target.write_text(text)  # for programs that the tests start
            unseen = not near or not session.fails(near, functools.partial(replaced, module, text))
            tally.add(name, line, told, ("survived" if near else "no test runs") if unseen else None)
            shutil.copy(path, target)
        tally.close(len(every))

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copytree(PACKAGE, folder / "polymargin", ignore=shutil.ignore_patterns("__pycache__"))
        # The compiled core is that of the environment.
        for place in find_spec("polymargin").submodule_search_locations:
            for module in Path(place).glob("_core*"):
                shutil.copy(module, folder / "polymargin")
        sys.path.insert(0, str(folder))
        os.environ["PYTHONPATH"] = str(folder)
        tests = dict.fromkeys(test for near in paths.values() for test in near)
        return int(pytest.main([*OPTIONS, "-s", *tests], plugins=[Session(folder, trial)]) == 1)


if __name__ == "__main__":
    sys.exit(main())
