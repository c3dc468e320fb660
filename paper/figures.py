"""The figure of speeds, from stored runs: python paper/figures.py writes paper/speed.png."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PEERS = {"sklearn": "scikit-learn", "onedal-32": "oneDAL, float32", "onedal-64": "oneDAL, float64", "libsvm": "LIBSVM"}
NAMES = {
    "gaussians": "Gaussians\n100,000 x 5",
    "classes": "ten classes\n20,000 x 50",
    "mnist10k": "mnist\n10,000 x 784",
}
NAMES |= {"usps": "usps\n7,291 x 256", "letter": "letter\n15,000 x 16", "digits": "digits\n1,297 x 64"}


def rows(name):
    with (RESULTS / name).open(newline="") as file:
        return list(csv.DictReader(file))


def pairs(axes):
    """How many times as long the peers take for the same one-versus-one machines."""
    seconds = {
        (r["dataset"], r["solver"]): float(r["fit_seconds"])
        for r in rows("2026-11-16-pairwise.csv")
        if r["fit_seconds"]
    }
    sets = [name for name in NAMES if (name, "polymargin") in seconds]
    for (solver, label), marker in zip(PEERS.items(), "osD^", strict=True):
        found = [
            (k, seconds[name, solver] / seconds[name, "polymargin"])
            for k, name in enumerate(sets)
            if (name, solver) in seconds
        ]
        if found:
            axes.plot([times for _, times in found], [k for k, _ in found], marker, label=label, alpha=0.8)
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set(xscale="log", yticks=range(len(sets)), yticklabels=[NAMES[name] for name in sets])
    axes.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"], minor=False)
    axes.set_xticks([], minor=True)
    axes.set(title="one-versus-one: training", xlabel="times as long as polymargin")
    axes.legend(fontsize=8)


def joint(axes):
    """Processor time of joint machines against scikit-learn's SVC."""
    found = [
        r for r in rows("joint-rbf-2026-11-16.csv") if r["solver"] not in ("svc", "one-vs-rest") and r["cpu_times_svc"]
    ]
    sets, machines = (list(dict.fromkeys(r[key] for r in found)) for key in ("dataset", "solver"))
    for machine, marker in zip(machines, "osD^v<>P*X", strict=False):
        own = [r for r in found if r["solver"] == machine]
        axes.plot(
            [float(r["cpu_times_svc"]) for r in own],
            [sets.index(r["dataset"]) for r in own],
            marker,
            label=machine,
            alpha=0.8,
        )
    axes.axvline(1, color="gray", linewidth=0.8)
    axes.set(xscale="log", yticks=range(len(sets)), yticklabels=sets)
    axes.set_xticks([0.5, 1, 2], ["1/2", "1", "2"], minor=False)
    axes.set_xticks([], minor=True)
    axes.set(title="joint machines: training", xlabel="processor time / that of scikit-learn's SVC")
    axes.legend(fontsize=8)


def main():
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    pairs(left)
    joint(right)
    figure.savefig(ROOT / "paper" / "speed.png", dpi=150)


if __name__ == "__main__":
    main()
