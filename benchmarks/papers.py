"""The stored results of the papers' experiments as small CSV files, and the page docs/papers.md made from them.

polymargin reproduce --out papers-rerun                 runs what is not finished yet (hours)
python -m benchmarks.papers --fill papers-rerun         puts the stored cells into its folder, as finished
rm papers-rerun/full/criteria-table-5/Vowel--CV_dense.json   has a cell run again by the next reproduce
python -m benchmarks.papers papers-rerun                adds its cells to the stored ones, and writes the page
python -m benchmarks.papers                             writes the page from the CSV files
"""

import csv
import json
import shutil
import sys
from pathlib import Path

from polymargin.papers import PAPERS, exhibits
from polymargin.papers.exhibit import MEASURES, NEAR, compare, counts
from polymargin.papers.report import number, score, write_csv
from polymargin.papers.store import finished, path_of

ROOT = Path(__file__).parents[1]
STORE, PAGE = ROOT / "benchmarks" / "results" / "papers", ROOT / "docs" / "papers.md"
PICTURES = ROOT / "docs" / "images" / "papers"
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
MISPRINTS = """
| paper | where | printed | read as |
|---|---|---|---|
| Jenssen | eq. 6 to 8 | scatter equals a'Ka "up to a constant" | K / T, otherwise biases and losses do not match |
| Jenssen | before eq. 16 | dual of the squared hinge t - t²/2 | t + t²/2 for t ≤ 0 |
| Jenssen | eq. 16 | diag(1/µ²) | K/T + I/µ |
| Jenssen | eq. 17 | infimum of a concave function | the infimum of its negative |
| Jenssen | figure 4 | class means -4, 2, 4 and "global mean 2" | their mean is 2/3 |
| Jenssen | text of table 2 | 99.87 and 99.38 % of 630 rows | 99.84 and 99.37 are the nearest possible values |
| Jenssen | text of table 6 | 364 rows of USPS | 365: every 20th of 7,291, with 19 to 64 rows per class, as printed |
| Jenssen | solver in Shogun | LIBSVM "is only capable of a without-bias training" | of training with a bias |
| Jenssen, Franc, Wang | tables of data sets | Glass has 13 attributes | 9 |
| Franc | table 1 | Thyroid has 3 attributes | 5 |
| Franc | eq. 2, 3 | b² in the sum; no bound on the slacks | the sum of b_m²; slacks ≥ 0 for the linear cost |
| Wang | eq. 22, 25 | 1/(4 - ...); divided by n² | a quarter of the squared distance of means; divided by n |
| Wang | table VI, effort (t, e) of DNA and Satimage, criterion II | as in table IV | copied: their errors differ |
| Wang | table VI, Iris, criterion II | 11.68 iterations, the mean of five searches | not a mean of five whole numbers |
| Wang | text of table IV | 2,700 programs of cross-validation | five times as many: the folds are missing |
| Wang | table V, Vehicle, criterion I | sparse 25.54, single 28.84 | seem swapped: elsewhere sparse is near dense |
| Wang | text of table V | 3.89 % on Yeast, the largest increase | compares two different methods |
| Wang | table VII, Segment, cross-validation, DAG | 3.41 ± 0.45 | ± 0.49 in table V, which has the same cell |
| Wang | table II, Glass | a smallest class of 0 rows | six classes, the smallest of 9 rows |
| Wang | table II, DNA | 765 to 1,654 rows per class of n = 2,000 | counts of training and test rows, 3,186 |
| Wang | table VIII | two columns "Spatial GRBF" of criterion II | spherical and ellipsoidal |
| Asharaf | eq. 8, 9, 11 | <y, y'> + k | the product <y, y'> k |
| Asharaf | code of the classes | sqrt(1/(T(T-1))) for other classes | its negative (`code="printed"`: as printed) |
| Asharaf | eq. 13 | 0 < α < C | α > 0: there is no C |
| Silva | eq. 3, second line | sqrt(exp(-d²/γ) - α) | exp(d²/(2γ)) - α; in the rerun sqrt(exp(d²/γ) - α) |
| Silva | section 5.2 | recall a/(a+b), precision a/(a+c) | swapped |
"""


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
        if c["measure"] in COUNTS and sd is None and value == round(value):
            return f"{value:,.0f}"
        return number(value, sd if deviations else None)

    printed = f" ({text_of(c['printed'], c['printed_sd'])})" if c["printed"] is not None else ""
    if c["ours"] is None:
        return f"not run{printed}"
    text = text_of(c["ours"], c["ours_sd"]) + printed
    return f"**{text}**" if c["as_good"] is False else text


def judged(c):
    """Whether a cell is one of the accuracies and errors of the paper's own methods that are counted."""
    return c is not None and c["own"] and c["as_good"] is not None and " time / " not in c["measure"]


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
            reasons.setdefault((e.paper, e.safe[c["row"]]), []).append((e.name, c["row"]))
    lines += ["", f"These cells could hardly have failed; the tables mark them with {MARK}:", ""]
    for (paper, why), places in reasons.items():
        names, rows = (", ".join(dict.fromkeys(part)) for part in zip(*places, strict=True))
        lines.append(f"- {paper} {names}: {rows} ({len(places)} cells): {why}.")
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
        lines.append(f"- {paper} {', '.join(names)}: {text[0].upper()}{text[1:]}.")
    return lines


def section(parts):
    """The exhibits of a paper; remarks that several of them share come first, under the names of these."""
    users = {}
    for e, _ in parts:
        for remark in e.decided:
            users.setdefault(remark, []).append(e.name)
    shared, lines = {}, []
    for remark, names in users.items():
        if len(names) > 1:
            shared.setdefault(", ".join(names), []).append(remark)
    for names, remarks in shared.items():
        lines += [f"Choices and remarks for {names}:", "", *(f"- {remark}" for remark in remarks), ""]
    for e, cells in parts:
        lines += [f"### {e.name[0].upper()}{e.name[1:]}: {e.title}", "", e.where + ".", ""]
        picture = PICTURES / f"{e.key}.png"
        if picture.exists():
            lines += [f"![{e.title}](images/papers/{picture.name})", ""]
        lines += pivot(cells, e.safe) if cells else [] if picture.exists() else ["Not stored yet.", ""]
        own = [f"- {remark}" for remark in e.decided if len(users[remark]) == 1]
        lines += ["Choices and remarks:", "", *own, ""] if own else []
    return lines


def page():
    parts = [(e, stored(e)) for e in exhibits()]
    runs = stored_runs()
    dates, made = sorted({r["date"] for r in runs}), max(runs, key=lambda r: r["date"])
    used = f"polymargin {made['polymargin']}, scikit-learn {made['scikit-learn']}, NumPy {made['numpy']}"
    lines = [
        "# The papers, rerun",
        "",
        "We reran the experiments of the five papers behind this library, following the protocol of each paper. Every "
        "table shows our figure with the printed one in parentheses. Bold marks figures that are worse than printed by "
        "more than the printed standard deviation, or by more than one point where none is printed, and ratios of "
        "times above the printed ones.",
        "",
        "Deviations are over the halves, folds, draws or seeds named below each table; tables with more than "
        f"{WIDE} columns leave them to the CSV files. Running times are ratios to the reference method of the same "
        "run. Remarks that rest on a single run outside these tables name the command that repeats it.",
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
        "",
        "| paper | in short |",
        "|---|---|",
    ]
    for paper in PAPERS:
        cells = [c for e, part in parts if e.paper == paper and part for c in part]
        waiting = sum(c["ours"] is None for c in cells) + sum(
            len(e.printed) for e, part in parts if e.paper == paper and not part
        )
        text = score(cells) or "nothing stored yet"
        lines.append(f"| {TITLES[paper]} | {text}{f'; {waiting} cells not run' if waiting else ''} |")
    lines += verdicts(parts)
    worse = [c for _, part in parts if part for c in part if c["as_good"] is False and " time / " not in c["measure"]]
    lines += ["", "## Where ours is worse", ""]
    groups = {}  # cells of one row with the same reason are one line
    for c in sorted(worse, key=lambda c: not c["own"]):
        groups.setdefault((c["paper"], c["exhibit"], c["row"], c["measure"], c["note"]), []).append(c)
    for (paper, exhibit, row, measure, note), cells in groups.items():
        figures = "; ".join(
            f"{c['column']}{'' if c['own'] else ' (a baseline)'} {number(c['ours'])}, printed "
            f"{number(c['printed'], c['printed_sd'])}"
            for c in cells
        )
        lines.append(f"- {paper} {exhibit}, {row}, {measure}: {figures}. {note}".rstrip())
    lines += disagreements(parts)
    for paper in PAPERS:
        lines += ["", f"## {TITLES[paper]}", "", *section([(e, cells) for e, cells in parts if e.paper == paper])]
    lines += ["## Misprints", "", "We did not take these formulas and figures as printed.", "", MISPRINTS.strip(), ""]
    PAGE.write_text("\n".join(lines), "utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        act, folder = (fill, sys.argv[2]) if sys.argv[1] == "--fill" else (store, sys.argv[1])
        act(Path(folder) / "full")
    page()
