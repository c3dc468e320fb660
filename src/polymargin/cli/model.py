"""Commands that make or use a model: fit, predict, evaluate, explain, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from ..files.readers import read
from ..files.whole_files import write_figure
from ..kernels import BY_NAME
from .terminal import (  # fmt: skip
    As,
    Balanced,
    Columns,
    Data,
    Drop,
    Folds,
    Groups,
    Jobs,
    Json,
    ModelFile,
    Only,
    Refusal,
    Seed,
    Target,
    TimeLimit,
    Weights,
    check_folder,
    class_weight_of,
    columns_asked,
    columns_of,
    err,
    few_of,
    labeled,
    labels_of,
    listed,
    load,
    out,
    rows_of,
    say,
    source,
    table_of,
    table_of_columns,
    tell_left_out,
    text_of,
    without_groups,
    write_or_print,
)


def fit(
    data: Data,
    target: Target = "y",
    model: Annotated[Path, typer.Option("--out", "-o", help="where the model goes")] = Path("model.pm"),
    machine: Annotated[
        str, typer.Option(help="auto, pairwise, one-vs-rest, landmarks, core-vector, scatter, kesler, ...")
    ] = "auto",
    kernel: Annotated[str, typer.Option(help=f"{', '.join(BY_NAME[:-1])} or {BY_NAME[-1]}")] = "rbf",
    C: Annotated[float | None, typer.Option("--C", help="how much errors cost; tuned if not given")] = None,
    gamma: Annotated[
        float | None, typer.Option(help="width of the kernel, for scaled columns; tuned if not given")
    ] = None,
    scaling: Annotated[str, typer.Option(help="auto, column (each by its own spread) or common")] = "auto",
    drop: Drop = None,
    only: Only = None,
    kinds: As = None,
    folds: Folds = 5,
    groups: Groups = None,
    balanced: Balanced = False,
    weights: Weights = None,
    time_limit: TimeLimit = None,
    n_jobs: Jobs = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Scale, choose, tune, train and save a model. Ctrl-C saves what is there."""
    from ..auto.classifier import AutoSVC
    from ..files.model_file import save_model

    check_folder(model)
    choice = Columns.of(drop, only, kinds, groups)
    X, y = labeled(data, target, choice.read_as_text())
    X, shared = without_groups(X, data, groups)
    X = columns_asked(X, data, choice)
    class_weight = class_weight_of(balanced, weights, y)
    auto = AutoSVC(
        machine, kernel=kernel, C="auto" if C is None else C, gamma="auto" if gamma is None else gamma,
        scaling=scaling, cv=folds, columns=choice.wishes(), time_limit=time_limit, n_jobs=n_jobs, random_state=seed,
        class_weight=class_weight,
    )  # fmt: skip
    try:
        with err.status(f"training on {X.shape[0]} rows, {X.shape[1]} columns, {len(np.unique(y))} classes"):
            auto.fit(X, y, shared)
    except KeyboardInterrupt:
        if not (hasattr(auto, "fit_seconds_") and hasattr(auto, "machine_")):
            raise
        save_model(auto, model)
        err.print(f"interrupted; the model so far is in {model}")
        raise typer.Exit(130) from None
    save_model(auto, model)
    tell_fit(auto, X, data, model, as_json)


def tell_fit(auto: Any, X: Any, data: Path, model: Path, as_json: bool) -> None:
    columns = auto.columns_ if hasattr(X, "columns") else []
    if as_json:
        tell_left_out(data, columns)
        say(
            True,
            {
                "model": str(model), "rows": X.shape[0], "columns": X.shape[1], "classes": auto.classes_,
                "cv_accuracy": auto.cv_score_, **auto.best_params_, "choices": auto.explain_choices_,
                "seconds": auto.fit_seconds_, "table": columns,
            },
        )  # fmt: skip
        return
    if columns:
        say(False, {}, table_of_columns(columns))
    listed(auto.explain_choices_)
    out.print(
        f"Trained in {auto.fit_seconds_:.1f} s. The model is in {model}; try: polymargin predict {model} NEW.csv",
        soft_wrap=True,
    )


def costs_of(path: Path | None, classes: np.ndarray) -> np.ndarray | None:
    """What it costs to predict one class (a column) for rows of another (a row of the table), by name."""
    if path is None:
        return None
    table = read(path, text=[""]).X  # a corner without a name is usual here
    if not hasattr(table, "columns"):
        raise Refusal(f"{path}: expected a table with column names, got rows without them; write it as CSV")
    names = [str(c) for c in classes]
    rows = [str(v).strip() for v in table.iloc[:, 0]]
    for where, found in (("first column", rows), ("first line", list(table.columns[1:]))):
        lacking, odd = [n for n in names if n not in found], [n for n in found if n not in names or found.count(n) > 1]
        if lacking or odd:
            wrong = f"no {lacking[0]!r}" if lacking else f"{odd[0]!r}, which is no class or there twice,"
            raise Refusal(
                f"{path}: expected a row (first column) and a column for each of the classes {few_of(names)}, got "
                f"{wrong} in the {where}; a cell is what it costs to predict its column's class for its row's class"
            )
    costs = table.set_index(np.array(rows, dtype=object))[names].loc[names].to_numpy()
    if costs.dtype.kind not in "iuf" or not np.all(np.isfinite(costs)):
        raise Refusal(f"{path}: expected a number in every cell, got words or empty cells; correct them")
    if np.all(costs == costs[:, :1]):
        raise Refusal(
            f"{path}: expected costs that depend on what is predicted, got rows of equal numbers; correct them"
        )
    worse = names[int(np.argmax(np.diag(costs) - costs.min(axis=1)))]
    if np.any(np.diag(costs) > costs.min(axis=1)):
        text = f"{path}: to predict {worse!r} correctly costs more than a mistake; are the numbers costs, or gains?"
        err.print(f"[yellow]polymargin:[/] {escape(text)}", soft_wrap=True)
    return costs


def decided(model: Any, X: Any, costs: np.ndarray | None) -> np.ndarray:
    """The most probable classes, or those with the least expected costs."""
    if costs is None:
        return model.predict(X)
    return model.classes_[np.argmin(model.predict_proba(X) @ costs, axis=1)]


Costs = Annotated[
    Path | None, typer.Option(help="table of costs: predict what costs least on average, not what is most probable")
]


def predict(
    model: ModelFile,
    data: Data,
    to: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write, or -")] = Path("predictions.csv"),
    probabilities: Annotated[bool, typer.Option(help="add a column per class")] = False,
    costs: Costs = None,
    as_json: Json = False,
) -> None:
    """Write a CSV file with a column `prediction`, one row per row of the data."""
    import pandas as pd

    check_folder(to, printed=True)
    fitted = load(model)
    X = columns_of(fitted, rows_of(data, text=text_of(fitted)).X, data)
    frame = pd.DataFrame({"prediction": decided(fitted, X, costs_of(costs, fitted.classes_))})
    if probabilities:
        P = fitted.predict_proba(X)
        for c, name in enumerate(fitted.classes_):
            frame[f"probability of {name}"] = P[:, c]
    write_or_print(frame.to_csv(index=False), to)
    if str(to) == "-":
        return
    counts = {str(c): int(n) for c, n in frame["prediction"].value_counts().sort_index().items()}
    table = table_of(f"{len(frame)} rows, written to {to}", "class", "rows")
    for name, n in counts.items():
        table.add_row(escape(name), str(n))
    say(as_json, {"out": str(to), "rows": len(frame), "predicted": counts}, table)


def evaluate(model: ModelFile, data: Data, target: Target = "y", costs: Costs = None, as_json: Json = False) -> None:
    """Accuracy and the scores of every class on labeled rows."""
    from ..report.facts import score_facts, seen_in_training

    fitted = load(model)
    X, y = labeled(data, target, text_of(fitted))
    X, y = columns_of(fitted, X, data), labels_of(fitted, y, data)
    M = costs_of(costs, fitted.classes_)
    predicted = decided(fitted, X, M)
    scores = score_facts(y, predicted, fitted.classes_)
    scores["seen"] = seen_in_training(fitted.machine_, fitted.encode(X))
    title = f"accuracy {scores['accuracy']:.4f}, mean F1 {scores['macro F1']:.4f} on {len(y)} rows"
    if M is not None:
        at, found = (np.searchsorted(fitted.classes_, labels) for labels in (y, predicted))
        scores["mean cost"] = float(M[at, found].mean())
        title += f", mean cost {scores['mean cost']:.4g}"
    table = table_of(title, "class", "precision", "recall", "F1", "rows")
    for c in scores["table"]:
        shares = (f"{c[k]:.3f}" if c["rows"] else "-" for k in ("precision", "recall", "F1"))
        table.add_row(escape(c["class"]), *shares, str(c["rows"]))
    say(as_json, {"classes": [str(c) for c in fitted.classes_], **scores}, table)
    tell_seen(scores["seen"])


def tell_seen(seen: str) -> None:
    """What `seen_in_training` found."""
    if seen:
        err.print(f"[yellow]polymargin:[/] these scores are too optimistic. {escape(seen)}", soft_wrap=True)


def report(
    model: ModelFile,
    data: Data,
    target: Target = "y",
    to: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write, or -")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """One HTML page: choices, scores, calibration, a picture of the classes, deciding features, hardest rows."""
    from ..report import facts, render

    check_folder(to, printed=True)
    fitted = load(model)
    X, y = labeled(data, target, text_of(fitted))
    X, y = columns_of(fitted, X, data), labels_of(fitted, y, data)
    with err.status("writing the report"):
        name = source(Path(data.name))
        found = facts(fitted, X, y, title=f"{model.stem} on {name}", source=f"{len(y)} rows of {name}")
        write_or_print(render(found), to)
    tell_seen(found["seen"])
    if as_json and str(to) != "-":
        say(True, {"out": str(to)})
    elif str(to) != "-":
        out.print(f"The report is in {to}: open it in a browser.", soft_wrap=True)


def explain(
    model: ModelFile,
    data: Data,
    picture: Annotated[Path | None, typer.Option("--out", "-o", help="PNG or SVG file for the bars")] = None,
    top: Annotated[int, typer.Option(help="features to show", min=1)] = 20,
    as_json: Json = False,
) -> None:
    """Which features decide: the sensitivity of the class scores to each of them."""
    from ..report.facts import sensitivity_facts

    if picture is not None:
        check_folder(picture)
    fitted = load(model)
    Z = fitted.encode(columns_of(fitted, rows_of(data, text=text_of(fitted)).X, data))
    names = [str(c) for c in fitted.classes_]
    features = [str(f) for f in fitted.feature_names_out_]
    facts = sensitivity_facts(fitted.machine_, Z, features, names, 0, shown=top)
    if facts["why"]:
        raise Refusal(facts["why"])
    apart = ["matters most for"] if len(names) > 2 else []  # of two classes, what tells one tells the other
    table = table_of("share of each feature in the squared slopes of the scores", "feature", "share", *apart)
    for f in facts["features"]:
        most = escape(names[int(np.argmax(f["per class"]))])
        table.add_row(escape(f["name"]), f"{f['share']:.3f}", *[most] * len(apart))
    if picture is not None:
        from ..report.pictures import feature_picture

        write_figure(feature_picture(facts["features"], names), picture, dpi=150)
    say(as_json, facts, table)
