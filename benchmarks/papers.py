"""The stored results of the papers' experiments as small CSV files, and the page docs/papers.md made from them.

polymargin reproduce --out papers-rerun                 runs what is not finished yet (hours)
python -m benchmarks.papers --fill papers-rerun         puts the stored cells into its folder, as finished
rm papers-rerun/full/criteria-table-5/Vowel--CV_dense.json   has a cell run again by the next reproduce
python -m benchmarks.papers papers-rerun                adds its cells to the stored ones, and writes the page
python -m benchmarks.papers                             writes the page from the CSV files
"""

import csv
import json
import os
import re
import shutil
import sys
from pathlib import Path

from polymargin.papers import PAPERS, exhibits
from polymargin.papers.exhibit import MEASURES, NEAR, compare, counts
from polymargin.papers.report import number, write_csv
from polymargin.papers.store import finished, path_of

ROOT = Path(__file__).parents[1]
STORE, PAGE = ROOT / "benchmarks" / "results" / "papers", ROOT / "docs" / "papers.md"
PICTURES, MISPRINTS = ROOT / "docs" / "images" / "papers", ROOT / "benchmarks" / "misprints.md"
RUN = (
    "exhibit",
    "row",
    "column",
    "seconds",
    "date",
    "polymargin",
    "scikit-learn",
    "numpy",
    "scipy",
    "python",
    "machine",
    "parameters",
)
DISAGREE = "We disagree with the paper"  # how a remark begins that is listed on top of the page, too
MARK = "†"
COUNTS = ("support vectors", NEAR)
WIDE = 6  # columns of a table from which on it shows no deviations
TITLES = {
    "scatter": "Jenssen et al. 2012: Scatter SVM",
    "kesler": "Franc and Hlaváč 2002: multi-class BSVM",
    "criteria": "Wang, Xue and Chan 2008: two criteria for model selection",
    "core-vector": "Asharaf et al. 2007: multiclass core vector machine",
    "isomap": "Silva and Ribeiro 2009: supervised Isomap and SVM",
}
AUTHOR = {paper: title.split()[0].rstrip(",") for paper, title in TITLES.items()}
# The anchor of a heading, as Markdown makes it.
ANCHOR = {k: re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for k, title in TITLES.items()}


def place(cell):
    return cell["row"], cell["column"], cell["measure"]


def fill(folder):
    """Write the stored cells, and what was chosen for them, into the folder of a run, where other tables find them."""
    runs = {(r["exhibit"], r["row"], r["column"]): r for r in stored_runs()}
    for e in exhibits():
        results = {}
        for c in stored(e) or []:
            if c["ours"] is not None and " time / " not in c["measure"]:
                results.setdefault((c["row"], c["column"]), {})[c["measure"]] = [c["ours"], c["ours_sd"]]
        done = finished(folder / e.key)
        (folder / e.key).mkdir(parents=True, exist_ok=True)
        for (row, column), result in results.items():
            if (row, column) not in done:
                run = runs.get((e.key, row, column), {})
                result = json.loads(run.get("parameters") or "{}") | result
                record = dict(row=row, column=column, result=result, seconds=float(run.get("seconds", 0)), stored=True)
                path_of(folder / e.key, row, column).write_text(json.dumps(record), "utf-8")


def parameters(result):
    """What was chosen for a cell, with six digits: all that is neither a measure nor about its run."""

    def rounded(value):
        if isinstance(value, dict):
            return {k: rounded(v) for k, v in value.items()}
        return [rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.6g}")

    names = ("C", "gamma", "nu", "kappa", "sigma", "least")
    chosen = {name: rounded(result[name]) for name in names if name in result and name not in MEASURES}
    return json.dumps(chosen, separators=(",", ":")) if chosen else ""


def store(folder):
    """Add the cells and the pictures of a run; a cell that it has not computed stays as it is stored."""
    STORE.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    runs = {(r["exhibit"], r["row"], r["column"]): r for r in stored_runs()}
    for e in exhibits():
        picture = folder / f"{e.key}.png"
        if picture.exists():
            shutil.copyfile(picture, PICTURES / picture.name)
        before = {place(c): c for c in stored(e) or []}
        cells = [c if c["ours"] is not None else before.get(place(c), c) for c in compare(e, finished(folder / e.key))]
        if not any(c["ours"] is not None for c in cells):
            continue
        write_csv(STORE / f"{e.key}.csv", cells)
        for path in sorted((folder / e.key).glob("*.json")):
            record = json.loads(path.read_text("utf-8"))
            if not record.get("stored"):
                run = {k: record.get(k) for k in RUN} | {"exhibit": e.key, "seconds": round(record["seconds"], 1)}
                runs[e.key, record["row"], record["column"]] = run | {"parameters": parameters(record["result"])}
    with open(STORE / "runs.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, RUN)
        writer.writeheader()
        writer.writerows(runs.values())


def stored_runs():
    """How and when each stored cell was computed."""
    if not (STORE / "runs.csv").exists():
        return []
    with open(STORE / "runs.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def stored(exhibit):
    """The cells of a stored table, None where there is none; reasons come from the module, not from the file."""
    path = STORE / f"{exhibit.key}.csv"
    if not path.exists():
        return None
    with open(path, encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    for c in cells:
        for key in ("printed", "printed_sd", "ours", "ours_sd", "difference"):
            c[key] = float(c[key]) if c[key] else None
        c["as_good"] = {"True": True, "False": False, "": None}[c["as_good"]]
        c["own"] = c["own"] == "True"
        place = c["row"], c["column"]
        c["note"] = exhibit.reasons.get((*place, c["measure"]), exhibit.reasons.get(place, ""))
    return cells


def shown(c, deviations):
    """ours (printed), in bold where it is worse; a whole count without decimals."""
    if c is None:
        return ""

    def text_of(value, sd):
        if c["measure"] in COUNTS and not sd and value == round(value):
            return f"{value:,.0f}{' ± 0' if sd == 0 and deviations else ''}"
        return number(value, sd if deviations else None)

    printed = f" ({text_of(c['printed'], c['printed_sd'])})" if c["printed"] is not None else ""
    if c["ours"] is None:
        return f"not run{printed}"
    text = text_of(c["ours"], c["ours_sd"]) + printed
    return f"**{text}**" if c["as_good"] is False else text


def judged(c):
    """Whether a cell is one of the accuracies and errors of the paper's own methods that are counted."""
    return c is not None and c["own"] and c["as_good"] is not None and not is_time(c)


def is_time(c):
    return " time / " in c["measure"]


def pivot(cells, safe):
    """Tables of one exhibit, one per measure: rows by columns, each place "ours ± deviation (printed)".

    Counted cells of the rows in `safe`, which could hardly have failed, are marked.
    """
    lines = []
    for measure in dict.fromkeys(c["measure"] for c in cells):
        part = {(c["row"], c["column"]): c for c in cells if c["measure"] == measure}
        columns = list(dict.fromkeys(column for _, column in part))
        lines += [f"| {measure} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for row in dict.fromkeys(row for row, _ in part):
            found = [part.get((row, column)) for column in columns]
            places = [shown(c, len(columns) <= WIDE) + MARK * (judged(c) and row in safe) for c in found]
            lines.append(f"| {row} | " + " | ".join(places) + " |")
        lines.append("")
    marked = [f"{MARK} could hardly have failed: {why}." for why in dict.fromkeys(safe.values())]
    return lines + [line for text in marked for line in (text, "")]


def tally(cells, own):
    """How many of the accuracies and errors, of the paper's own methods or of its baselines, are as good as printed."""
    part = [c["as_good"] for c in cells if c["own"] == own and c["as_good"] is not None and not is_time(c)]
    return f"{sum(part)} of {len(part)}" if part else ""


def summary(parts):
    """A line per paper, after a sentence about all of them."""
    counted = [c for _, cells in parts for c in cells or [] if judged(c)]
    good = sum(c["as_good"] for c in counted)
    lines = [
        f"**{good} of the {len(counted)} accuracies and errors that five papers print for their own methods are as "
        "good here:** not worse than printed by more than the printed standard deviation, or by more than one point "
        f"where none is printed. [Stricter counts](#what-as-good-means) are below. The other {len(counted) - good} are "
        "[listed with their reasons](#where-ours-is-worse), and so are the points on which we "
        "[disagree](#where-we-disagree).",
        "",
        "| paper | own methods | baselines | times |",
        "|---|--:|--:|--:|",
    ]
    for paper in PAPERS:
        cells = [c for e, part in parts if e.paper == paper for c in part or []]
        times = [c["as_good"] for c in cells if is_time(c) and c["as_good"] is not None]
        columns = tally(cells, True), tally(cells, False), f"{sum(times)} of {len(times)}" if times else ""
        lines.append(f"| [{TITLES[paper]}](#{ANCHOR[paper]}) | " + " | ".join(columns) + " |")
    waiting = sum(c["ours"] is None for _, cells in parts for c in cells or [])
    left = f" {waiting} cells were not run; the remarks say why." if waiting else ""
    return [
        *lines,
        "",
        "The columns count cells that are as good as printed. Times are ratios to a reference method of the same run, "
        "and count if they are not above the printed ones: most that are above come from reference methods that have "
        f"become faster since.{left}",
    ]


def verdicts(parts):
    """What "as good" means, how many cells keep to stricter rules, and which could hardly have failed."""
    counted = [(e, c) for e, cells in parts for c in cells or [] if judged(c)]
    open_ = [c for e, c in counted if c["row"] not in e.safe]
    lines = [
        "",
        '## What "as good" means',
        "",
        "A cell is as good as printed if it is worse by at most the standard deviation printed with it, or by at most "
        f"one point where none is printed. The table counts the {len(counted)} accuracies and errors of the papers' "
        f"own methods, and the {len(open_)} of them that could have failed.",
        "",
        f"| worse than printed | of {len(counted)} | of {len(open_)} |",
        "|---|--:|--:|",
    ]
    few = counts(open_)
    lines += [f"| {rule} | {n} | {few[rule]} |" for rule, n in counts([c for _, c in counted]).items()]
    reasons = {}
    for e, c in counted:
        if c["row"] in e.safe:
            row = "all rows" if {row for row, _, _ in e.printed} <= set(e.safe) else c["row"]
            reasons.setdefault((e.paper, e.safe[c["row"]]), []).append((e.name, row))
    lines += ["", f"These cells could hardly have failed; the tables mark them with {MARK}:", ""]
    for (paper, why), places in reasons.items():
        names, rows = (listed(list(dict.fromkeys(part))) for part in zip(*places, strict=True))
        lines.append(f"- {AUTHOR[paper]}, {names}, {rows} ({len(places)} cells): {why}.")
    return lines


def exceptions(parts):
    """Cells that are worse than printed, with the reasons: one line for a data set and a reason, own methods first."""
    groups = {}
    for c in (c for _, cells in parts for c in cells or [] if c["as_good"] is False and not is_time(c)):
        groups.setdefault((c["paper"], c["row"], c["measure"], c["note"]), []).append(c)
    lines = [
        "",
        "## Where ours is worse",
        "",
        "What is printed is in parentheses; the papers' own methods come first.",
        "",
    ]
    for (paper, row, measure, note), cells in sorted(groups.items(), key=lambda item: not item[1][0]["own"]):
        figures = "; ".join(
            f"{c['column']}{'' if c['own'] else ' (a baseline)'} {number(c['ours'])} "
            f"({number(c['printed'], c['printed_sd'])})"
            for c in cells
        )
        where = listed(list(dict.fromkeys(c["exhibit"] for c in cells)))
        lines.append(f"- **{AUTHOR[paper]}, {where}, {row}:** {measure} {figures}. {note}".rstrip())
    return lines


def disagreements(parts):
    """The remarks in which the page and a paper disagree, with where they belong."""
    where = {}
    for e, _ in parts:
        for remark in e.decided:
            if remark.startswith(DISAGREE):
                where.setdefault((e.paper, remark), []).append(e.name)
    lines = [
        "",
        "## Where we disagree",
        "",
        'The remarks below the tables and figures say more; "there" is the paper.',
        "",
    ]
    for (paper, remark), names in where.items():
        text = remark.removeprefix(DISAGREE).removeprefix(" here:").split(". ")[0].strip().rstrip(".")
        lines.append(f"- **{AUTHOR[paper]}, {listed(names)}:** {text[0].upper()}{text[1:]}.")
    return lines


def reading():
    """How the tables are read, when they were made, and how to make them again."""
    runs = stored_runs()
    dates, made = sorted({r["date"] for r in runs}), max(runs, key=lambda r: r["date"])
    used = f"polymargin {made['polymargin']}, scikit-learn {made['scikit-learn']}, NumPy {made['numpy']}"
    return [
        "",
        "## How to read the tables, and rerun them",
        "",
        "Every experiment follows the protocol of its paper. A table shows our figure with the printed one in "
        "parentheses. Bold marks figures that are not as good as printed, and ratios of times above the printed ones. "
        "Deviations are over the halves, folds, draws or seeds named below each table; tables with more than "
        f"{WIDE} columns leave them to the CSV files. Remarks that rest on a single run outside the tables name the "
        "command that repeats it.",
        "",
        "    polymargin reproduce kesler --table 2          rerun one table and compare it with the printed one",
        "    polymargin reproduce scatter --figure 3        redraw one figure",
        "    polymargin reproduce --fast                    run everything on reduced grids, for a first look",
        "    python -m benchmarks.paper_checks              the single runs behind some remarks",
        "",
        f"The results are from {' to '.join(dict.fromkeys((dates[0], dates[-1])))}, with {used}, Python "
        f"{made['python']} on {made['machine']}. They are stored in `benchmarks/results/papers`, and `python -m "
        "benchmarks.papers` makes this page from them. The machine was busy with other work, so times are good only "
        "for rough ratios.",
    ]


def section(parts):
    """The exhibits of a paper. Remarks that several of them share stand below the first, under the names of all."""
    users = {}
    for e, _ in parts:
        for remark in e.decided:
            users.setdefault(remark, []).append(e.name)
    cited = os.path.commonprefix([e.where for e, _ in parts]).rpartition(",")[0]
    lines = [f"{cited}.", ""]
    for e, cells in parts:
        lines += [f"### {e.name[0].upper()}{e.name[1:]}: {e.title}", ""]
        where = e.where.removeprefix(cited + ",").strip()
        if where.lower() != e.name:
            lines += [f"{where[0].upper()}{where[1:]}.", ""]
        picture = PICTURES / f"{e.key}.png"
        if picture.exists():
            lines += [f"![{e.title}](images/papers/{picture.name})", ""]
        lines += pivot(cells, e.safe) if cells else [] if picture.exists() else ["Not stored yet.", ""]
        lines += remarks_of(e, users)
    return lines


def remarks_of(e, users):
    """The choices and remarks of an exhibit; those that stood below an earlier one are named only."""
    groups, before = {}, []
    for remark in e.decided:
        if users[remark][0] == e.name:
            groups.setdefault(tuple(users[remark][1:]), []).append(remark)
        elif users[remark][0] not in before:
            before.append(users[remark][0])
    lines = []
    for others, remarks in sorted(groups.items(), key=lambda item: len(item[0])):
        also = f", also for {listed(others)}" if others else ""
        lines += [f"Choices and remarks{also}:", "", *(f"- {remark}" for remark in remarks), ""]
    return lines + ([f"See also the remarks below {listed(before)}.", ""] if before else [])


def listed(names):
    """Tables 4, 5 and 6; with another separator where names have commas."""
    between = "; " if any("," in name for name in names) else ", "
    text = " and ".join(part for part in (between.join(names[:-1]), names[-1]) if part)
    kinds = {kind for kind in ("table ", "figure ") if all(name.startswith(kind) for name in names)}
    for kind in kinds if len(names) > 1 else ():
        text = f"{kind.strip()}s " + text.replace(kind, "")
    return text


def page():
    parts = [(e, stored(e)) for e in exhibits()]
    lines = ["# The papers, rerun", "", *summary(parts)]
    lines += verdicts(parts) + exceptions(parts) + disagreements(parts) + reading()
    for paper in PAPERS:
        lines += ["", f"## {TITLES[paper]}", "", *section([(e, cells) for e, cells in parts if e.paper == paper])]
    lines += ["## Misprints", "", "We did not take these formulas and figures as printed.", ""]
    PAGE.write_text("\n".join([*lines, MISPRINTS.read_text("utf-8")]), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        act, folder = (fill, sys.argv[2]) if sys.argv[1] == "--fill" else (store, sys.argv[1])
        act(Path(folder) / "full")
    page()
