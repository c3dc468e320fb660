"""The figure of speeds, from stored runs: python paper/figures.py writes paper/speed.png."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAIRS, MACHINES = "pairwise-quiet-2026-11-18.csv", "machines-2026-11-17.csv"
PEERS = {"sklearn": "scikit-learn", "onedal-32": "oneDAL, float32"}


def rows(name):
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def names(found):
    """Sets by their number of rows, the largest on top."""
    sizes = {r["dataset"].partition(":")[0]: int(r["n"]) for r in found}
    sizes = dict(sorted(sizes.items(), key=lambda item: item[1]))
    return {name: k for k, name in enumerate(sizes)}, [f"{name}, {n:,}" for name, n in sizes.items()]


def pairs(axes):
    """How many times as long the peers take for the same one-versus-one machines; filled: C = 1, hollow: C = 100."""
    found = [r for r in rows(PAIRS) if r["fit_seconds"]]
    at, labels = names(found)
    own = {r["dataset"]: float(r["fit_seconds"]) for r in found if r["solver"] == "polymargin"}  # the last run of each
    for (solver, label), marker, color in zip(PEERS.items(), "os", ("tab:blue", "tab:orange"), strict=True):
        times = {r["dataset"]: float(r["fit_seconds"]) for r in found if r["solver"] == solver}
        for ending, face in ((":1", color), (":100", "none")):
            here = [name for name in times if name.endswith(ending)]
            x = [times[name] / own[name] for name in here]
            y = [at[name.partition(":")[0]] for name in here]
            axes.plot(x, y, marker, color=color, mfc=face, label=f"{label}, C = {ending[1:]}")
    axes.set(yticks=range(len(labels)), yticklabels=labels)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"], minor=False)
    axes.set(title="one-versus-one: training", xlabel="times as long as polymargin")


def times_svc():
    """{machine: {set: processor time as a multiple of SVC's}}, of the page about machines."""
    page = (ROOT / "docs" / "choosing-a-machine.md").read_text()
    table = page.partition("as a multiple of SVC's")[2].partition("\n| machine |")[2].partition("\n\n")[0]
    head, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return {name: dict(zip(head[:-1], map(float, values), strict=False)) for name, *values in lines}


def joint(axes):
    """Processor time of joint machines against scikit-learn's SVC."""
    at, labels = names(rows(MACHINES))
    found = times_svc()
    for machine, marker in zip(("crammer-singer", "kesler", "scatter"), "osD", strict=True):
        own = found[machine]
        axes.plot(list(own.values()), [at[name] for name in own], marker, label=machine, alpha=0.8)
    axes.set(yticks=range(len(labels)), yticklabels=labels)
    axes.set_xscale("log")
    axes.set_xticks([0.2, 0.5, 1, 2, 4], ["1/5", "1/2", "1", "2", "4"], minor=False)
    axes.set(title="joint machines: training", xlabel="processor time / that of scikit-learn's SVC")


def main():
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for panel, draw in zip(panels, (pairs, joint), strict=True):
        draw(panel)
        panel.axvline(1, color="gray", linewidth=0.8)
        panel.set_xticks([], minor=True)
        panel.legend(fontsize=8)
    figure.savefig(ROOT / "paper" / "speed.png", dpi=150)


if __name__ == "__main__":
    main()
