"""Commands that make or use a model: fit, predict, evaluate, explain, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape

from ..files.readers import read
from .terminal import (  # fmt: skip
    Data,
    Json,
    ModelFile,
    Refusal,
    Seed,
    Target,
    TimeLimit,
    check_folder,
    columns_of,
    err,
    labeled,
    labels_of,
    load,
    out,
    say,
    table_of,
    without_counters,
)


def fit(
    data: Data,
    target: Target = "y",
    model: Annotated[Path, typer.Option("--out", "-o", help="where the model goes")] = Path("model.pm"),
    machine: Annotated[
        str, typer.Option(help="auto, pairwise, one-vs-rest, core-vector, scatter, kesler, ...")
    ] = "auto",
    C: Annotated[float | None, typer.Option("--C", help="weight of the losses; tuned if not given")] = None,
    gamma: Annotated[
        float | None, typer.Option(help="of the RBF kernel, in scaled columns; tuned if not given")
    ] = None,
    balanced: Annotated[bool, typer.Option(help="give all classes the same total weight")] = False,
    time_limit: TimeLimit = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Scale, choose, tune, train and save a model. Ctrl-C saves what is there."""
    from ..auto.classifier import AutoSVC
    from ..files.model_file import save_model

    check_folder(model)
    X, y = labeled(data, target)
    X = without_counters(X, data)
    auto = AutoSVC(
        machine, C="auto" if C is None else C, gamma="auto" if gamma is None else gamma,
        class_weight="balanced" if balanced else None, time_limit=time_limit, random_state=seed,
    )  # fmt: skip
    try:
        with err.status(f"training on {X.shape[0]} rows, {X.shape[1]} columns, {len(np.unique(y))} classes"):
            auto.fit(X, y)
    except KeyboardInterrupt:
        if not (hasattr(auto, "fit_seconds_") and hasattr(auto, "machine_")):
            raise
        save_model(auto, model)
        err.print(f"interrupted; the model so far is in {model}")
        raise typer.Exit(130) from None
    save_model(auto, model)
    facts = {
        "model": str(model), "rows": X.shape[0], "columns": X.shape[1], "classes": auto.classes_,
        "cv_accuracy": auto.cv_score_, **auto.best_params_, "choices": auto.explain_choices_,
        "seconds": auto.fit_seconds_,
    }  # fmt: skip
    if not as_json:
        for line in auto.explain_choices_:
            out.print(f"• {escape(line)}", soft_wrap=True)
        out.print(
            f"Trained in {auto.fit_seconds_:.1f} s. The model is in {model}; try: polymargin predict {model} NEW.csv",
            soft_wrap=True,
        )
        return
    say(True, facts)


def predict(
    model: ModelFile,
    data: Data,
    to: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write")] = Path("predictions.csv"),
    probabilities: Annotated[bool, typer.Option(help="add a column per class")] = False,
    as_json: Json = False,
) -> None:
    """Write a CSV file with a column `prediction`, one row per row of the data."""
    import pandas as pd

    from ..report import save

    check_folder(to)
    fitted = load(model)
    X = columns_of(fitted, read(data).X, data)
    P = fitted.predict_proba(X)
    frame = pd.DataFrame({"prediction": fitted.predict(X)})
    if probabilities:
        for c, name in enumerate(fitted.classes_):
            frame[f"probability of {name}"] = P[:, c]
    save(frame.to_csv(index=False), to)
    counts = {str(c): int(n) for c, n in frame["prediction"].value_counts().sort_index().items()}
    table = table_of(f"{len(frame)} rows, written to {to}", "class", "rows")
    for name, n in counts.items():
        table.add_row(escape(name), str(n))
    say(as_json, {"out": str(to), "rows": len(frame), "predicted": counts}, table)


def evaluate(model: ModelFile, data: Data, target: Target = "y", as_json: Json = False) -> None:
    """Accuracy and the scores of every class on labeled rows."""
    from ..report.facts import score_facts

    fitted = load(model)
    X, y = labeled(data, target)
    X, y = columns_of(fitted, X, data), labels_of(fitted, y, data)
    scores = score_facts(y, fitted.predict(X), fitted.classes_)
    title = f"accuracy {scores['accuracy']:.4f}, mean F1 {scores['macro F1']:.4f} on {len(y)} rows"
    table = table_of(title, "class", "precision", "recall", "F1", "rows")
    for c in scores["table"]:
        table.add_row(escape(c["class"]), *(f"{c[k]:.3f}" for k in ("precision", "recall", "F1")), str(c["rows"]))
    say(as_json, {"classes": [str(c) for c in fitted.classes_], **scores}, table)


def report(
    model: ModelFile,
    data: Data,
    target: Target = "y",
    to: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write")] = Path("report.html"),
    as_json: Json = False,
) -> None:
    """One HTML page: choices, scores, calibration, a picture of the classes, deciding features, hardest rows."""
    from ..report import facts, render, save

    check_folder(to)
    fitted = load(model)
    X, y = labeled(data, target)
    X, y = columns_of(fitted, X, data), labels_of(fitted, y, data)
    with err.status("writing the report"):
        found = facts(fitted, X, y, title=f"{model.stem} on {data.name}", source=f"{len(y)} rows of {data.name}")
        save(render(found), to)
    if found["seen"]:
        err.print(f"[yellow]polymargin:[/] the scores are too good. {escape(found['seen'])}", soft_wrap=True)
    if as_json:
        say(True, {"out": str(to)})
    else:
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
    Z = fitted.encode(columns_of(fitted, read(data).X, data))
    names = [str(c) for c in fitted.classes_]
    features = [str(f) for f in fitted.feature_names_out_]
    facts = sensitivity_facts(fitted.machine_, Z, features, names, 0, shown=top)
    if facts["why"]:
        raise Refusal(facts["why"])
    table = table_of("share of each feature in the squared slopes of the scores", "feature", "share", "most in class")
    for f in facts["features"]:
        table.add_row(escape(f["name"]), f"{f['share']:.3f}", escape(names[int(np.argmax(f["per class"]))]))
    if picture is not None:
        from ..report.pictures import feature_picture

        feature_picture(facts["features"], names).savefig(picture, dpi=150)
    say(as_json, facts, table)
