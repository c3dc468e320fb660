"""Commands that look at labeled data: tune, embed, compare."""

from __future__ import annotations

import shlex
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from sklearn.base import clone
from sklearn.model_selection import cross_val_score, train_test_split

from ..files.readers import counted
from ..files.whole_files import write_figure
from ..fitting.checks import class_weights
from .terminal import (
    As,
    Balanced,
    Columns,
    Data,
    Drop,
    Folds,
    Groups,
    Json,
    Only,
    Refusal,
    Seed,
    Target,
    Weights,
    check_folder,
    class_weight_of,
    columns_asked,
    err,
    labeled,
    option,
    out,
    say,
    source,
    table_of,
    tell_left_out,
    without_groups,
    write_or_print,
)

METHODS = ("grid", "criterion-I", "criterion-II")


def encoded(X: Any, data: Path, choice: Columns) -> Any:
    """Rows as AutoSVC would encode them with one scale per column, without columns that are not asked for."""
    from ..auto.tables import ColumnEncoder

    X = columns_asked(X, data, choice)
    encoder = ColumnEncoder(columns=choice.wishes()).fit(X)
    if hasattr(X, "columns"):
        tell_left_out(data, encoder.columns_)
    return encoder.transform(X)


def splits_of(y: np.ndarray, groups: np.ndarray | None, folds: int, seed: int) -> list[Any]:
    """The folds that `fit` makes of the same rows: all classes in each; rows of one group stay together."""
    from ..auto.grid import Folds, quietly, together

    if groups is None:
        return quietly(list, Folds(folds, seed).of(None, y).split(y, y))
    if len(np.unique(groups)) < folds:
        raise Refusal(
            f"expected at least {folds} groups for {folds} folds, got {len(np.unique(groups))}; lower --folds"
        )
    splits = together(folds, y, groups, seed)
    if not splits:
        raise Refusal("expected folds with two classes to train on, got none, as each class is in a group of its own")
    return splits


def testable(y: np.ndarray, data: Path) -> np.ndarray:
    """Rows of classes with two rows or more, which can be both learned and tested; `fit` tunes on the same."""
    index = np.unique(y, return_inverse=True)[1]
    at = np.flatnonzero(np.bincount(index)[index] > 1)
    if len(np.unique(index[at])) < 2:
        raise Refusal(f"{source(data)}: expected two classes with at least 2 rows each to tune with, got fewer")
    return at


def importance_of(class_weight: Any, y: np.ndarray) -> np.ndarray:
    """How much every row counts, in training and in scores, if its class weighs so much."""
    classes, index = np.unique(y, return_inverse=True)
    return class_weights(class_weight, classes, index, np.ones(len(y)))[index]


def check_method(method: str, machine: str, ellipsoidal: bool, groups: str | None, weighted: bool) -> None:
    from ..auto.task import REDUCTIONS
    from ..machines import MACHINES

    if method not in METHODS:
        raise Refusal(f"expected --method to be one of {', '.join(METHODS)}, got {method!r}")
    if machine not in (*REDUCTIONS, *MACHINES):
        raise Refusal(f"expected --machine to be one of {', '.join((*REDUCTIONS, *MACHINES))}, got {machine!r}")
    if ellipsoidal and method == "grid":
        raise Refusal("expected --method criterion-I or criterion-II with --ellipsoidal, got grid")
    if groups is not None and method != "grid":
        raise Refusal(f"expected --method grid with --groups, got {method}; the criteria split no rows")
    if weighted and method != "grid":
        raise Refusal(
            f"expected --method grid with --balanced or --weights, got {method}; the criteria know no weights"
        )


def tune(
    data: Data,
    target: Target = "y",
    machine: Annotated[str, typer.Option(help="pairwise, one-vs-rest, core-vector, scatter, kesler, ...")] = "pairwise",
    method: Annotated[str, typer.Option(help="grid (cross-validation), criterion-I or criterion-II")] = "grid",
    drop: Drop = None,
    only: Only = None,
    kinds: As = None,
    ellipsoidal: Annotated[bool, typer.Option(help="one width per column (the criteria only)")] = False,
    folds: Folds = 5,
    groups: Groups = None,
    balanced: Balanced = False,
    weights: Weights = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Find C and gamma for scaled columns, by exact cross-validation or by gradient on a radius-margin criterion."""
    from ..auto.grid import PATTERN_C, PATTERN_GAMMA
    from ..auto.task import machine_named, particulars
    from ..selection.radius_margin import RadiusMarginSearch
    from ..selection.search_cv import KernelSearchCV

    check_method(method, machine, ellipsoidal, groups, balanced or bool(weights))
    choice = Columns.of(drop, only, kinds, groups)
    X, y = labeled(data, target, choice.read_as_text())
    importance = importance_of(class_weight_of(balanced, weights, y), y)
    X, shared = without_groups(X, data, groups)
    Z = encoded(X, data, choice)
    more = particulars(machine, len(np.unique(y)), seed)
    estimator = machine_named(machine, C=1.0, gamma=1.0 / (2 * Z.shape[1]), **more)
    begin, done = time.perf_counter(), ""
    with err.status(f"tuning on {Z.shape[0]} rows, {Z.shape[1]} columns"):
        if method == "grid":
            at = testable(y, data)
            cv = splits_of(y[at], None if shared is None else shared[at], folds, seed)
            search = KernelSearchCV(estimator, C=PATTERN_C, gamma=PATTERN_GAMMA / Z.shape[1], cv=cv, refit=False)
            search.fit(Z[at], y[at], sample_weight=importance[at])
            done = f", {counted(search.n_splits_, 'fold')} of {len(at)} rows"
            weighted = "weighted_" if balanced or weights else ""
            score = {f"cv_{weighted}accuracy": float(search.best_score_)}
        else:
            kernel = "ellipsoidal" if ellipsoidal else "spherical"
            search = RadiusMarginSearch(estimator, criterion=method.removeprefix("criterion-"), kernel=kernel).fit(Z, y)
            score = {"criterion": float(search.criterion_path_[-1]["value"])}
    seconds = time.perf_counter() - begin
    facts = {"method": method, "machine": machine, **search.best_params_, **score, "seconds": seconds}
    table = table_of(f"tuned in {facts['seconds']:.2f} s{done}", "parameter", "value")
    for name in ("C", "gamma", *score):
        value = facts[name]
        shown = f"{value:.6g}" if np.ndim(value) == 0 else f"{len(value)} numbers (use --json to see them)"
        table.add_row(name, shown)
    say(as_json, facts, table)
    if not as_json and np.ndim(facts["gamma"]) == 0:
        numbers = ["--C", repr(float(facts["C"])), "--gamma", repr(float(facts["gamma"]))]
        words = [str(data), *option("--target", target), "--machine", machine, "--scaling", "column", *numbers]
        words += [*choice.words(), *(option("--groups", groups) if groups else [])]
        words += [*["--balanced"] * balanced, *(w for word in weights or [] for w in option("--weights", word))]
        words += [*(["--folds", str(folds)] if folds != 5 else []), *(["--seed", str(seed)] if seed else [])]
        out.print(escape(f"Use them: polymargin fit {shlex.join(words)}"), soft_wrap=True)


def embed(
    data: Data,
    target: Target = "y",
    to: Annotated[Path, typer.Option("--out", "-o", help="CSV file for the coordinates, or -")] = Path("embedding.csv"),
    picture: Annotated[Path | None, typer.Option(help="PNG or SVG file for the picture")] = None,
    components: Annotated[int, typer.Option(help="dimensions", min=1)] = 2,
    held_out: Annotated[float, typer.Option(help="share of the rows to hold out", min=0.0, max=0.9)] = 0.3,
    drop: Drop = None,
    only: Only = None,
    kinds: As = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Map the rows to a plane by supervised Isomap; held-out rows are placed without their labels."""
    import pandas as pd

    from ..manifold.isomap import SupervisedIsomap

    check_folder(to, printed=True)
    if picture is not None:
        check_folder(picture)
    choice = Columns.of(drop, only, kinds)
    X, y = labeled(data, target, choice.read_as_text())
    Z = encoded(X, data, choice)
    Z = Z.toarray() if hasattr(Z, "toarray") else Z
    fit, held = np.arange(len(y)), np.zeros(0, dtype=np.int64)
    if held_out > 0:
        few = np.unique(y, return_counts=True)[1].min() < 2
        fit, held = train_test_split(fit, test_size=held_out, random_state=seed, stratify=None if few else y)
    if len(fit) < 2:
        raise Refusal(f"{source(data)}: expected at least 2 rows that are not held out, got {len(fit)}; add rows")
    with err.status(f"embedding {len(y)} rows"):
        isomap = SupervisedIsomap(n_components=components).fit(Z[fit], y[fit])
        place = np.empty((len(y), isomap.embedding_.shape[1]))
        place[fit] = isomap.embedding_
        if len(held):
            place[held] = isomap.transform(Z[held])
    frame = pd.DataFrame(place, columns=[f"component {k + 1}" for k in range(place.shape[1])])
    frame[target], frame["held out"] = y, np.isin(np.arange(len(y)), held)
    write_or_print(frame.to_csv(index=False), to)
    if picture is not None:
        from ..inspection.embedding_display import EmbeddingDisplay

        shown = dict(X_test=Z[held], y_test=y[held]) if len(held) else {}
        write_figure(EmbeddingDisplay.from_estimator(isomap, Z[fit], y[fit], **shown).figure_, picture)
    facts = {
        "out": str(to),
        "rows": len(y),
        "held_out": len(held),
        "residual_variance": float(isomap.residual_variance_),
    }
    if str(to) == "-":
        return
    if as_json:
        say(True, facts)
    else:
        found = counted(place.shape[1], "dimension")
        fewer = f" instead of {components}, because the distances have no more," if place.shape[1] < components else ","
        out.print(f"{len(y)} rows in {found}{fewer} written to {to}", soft_wrap=True)


def check_counts(classes: np.ndarray, n: np.ndarray, folds: int, data: Path) -> None:
    """Every machine has to be tested on every class in every fold."""
    least = int(n.argmin())
    if n[least] < folds:
        lower = f"use --folds {n[least]}, or " if n[least] > 1 else ""
        raise Refusal(
            f"{source(data)}: expected at least {folds} rows of every class for {folds} folds, got {n[least]} of "
            f"{str(classes[least])!r}; {lower}remove the class"
        )


def compare(
    data: Data,
    target: Target = "y",
    picture: Annotated[Path | None, typer.Option("--out", "-o", help="PNG or SVG file for a plot")] = None,
    folds: Folds = 5,
    rows: Annotated[int, typer.Option(help="use at most this many rows", min=10)] = 3000,
    drop: Drop = None,
    only: Only = None,
    kinds: As = None,
    groups: Groups = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """All machines side by side: cross-validated accuracy, time, support vectors, each at its own best C and gamma."""
    from ..auto.grid import PATTERN_C, PATTERN_GAMMA, quietly, sample_of
    from ..auto.remarks import OVERLAP_WARNING
    from ..auto.task import REDUCTIONS, machine_named, particulars
    from ..machines import MACHINES
    from ..selection.search_cv import KernelSearchCV

    if picture is not None:
        check_folder(picture)
    choice = Columns.of(drop, only, kinds, groups)
    X, y = labeled(data, target, choice.read_as_text())
    X, shared = without_groups(X, data, groups)
    Z = encoded(X, data, choice)
    classes, index = np.unique(y, return_inverse=True)
    check_counts(classes, np.bincount(index), folds, data)
    at = sample_of(index, rows, np.random.default_rng(seed))
    Z, y = Z[at], y[at]
    cv = splits_of(y, None if shared is None else shared[at], folds, seed)
    C, gamma = PATTERN_C[::2], PATTERN_GAMMA[1::2] / Z.shape[1]
    found = []
    for name in (*REDUCTIONS, *MACHINES):
        with err.status(f"{name} on {len(y)} rows"):
            best = machine_named(name, C=1.0, gamma=1.0, **particulars(name, len(classes), seed))
            search = KernelSearchCV(clone(best), C=C, gamma=gamma, cv=cv, refit=False).fit(Z, y)
            best.set_params(**{k: float(search.best_params_[k]) for k in ("C", "gamma")})
            accuracy = quietly(lambda best: cross_val_score(best, Z, y, cv=cv), best)
            begin = time.perf_counter()
            with warnings.catch_warnings():  # to choose another machine is what this table is for
                warnings.filterwarnings("ignore", message=OVERLAP_WARNING)
                best.fit(Z, y)
            seconds = time.perf_counter() - begin
        found.append(
            {"machine": name, "accuracy": float(accuracy.mean()), "spread": float(accuracy.std()), "seconds": seconds,
             "support_vectors": len(best.support_), "C": best.C, "gamma": best.gamma}
        )  # fmt: skip
        if not err.is_terminal:  # where no spinner turns
            err.print(f"{name}: accuracy {accuracy.mean():.4f}")
    title = f"{len(y)} rows, {Z.shape[1]} columns, {len(classes)} classes, {folds} folds"
    if picture is not None:
        from ..report.pictures import comparison_picture

        write_figure(comparison_picture(found), picture, dpi=150)
    say(as_json, {"rows": len(y), "machines": found}, comparison(title, found))


def comparison(title: str, found: list[dict[str, Any]]) -> Any:
    """A row per machine, the best first."""
    table = table_of(title, "machine", "accuracy", "+-", "seconds to fit", "support vectors", "C", "gamma")
    for row in sorted(found, key=lambda r: -r["accuracy"]):
        table.add_row(
            escape(row["machine"]), f"{row['accuracy']:.4f}", f"{row['spread']:.4f}", f"{row['seconds']:.3f}",
            str(row["support_vectors"]), f"{row['C']:g}", f"{row['gamma']:.3g}",
        )  # fmt: skip
    return table
