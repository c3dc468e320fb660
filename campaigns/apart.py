"""How far apart the models of different instruction sets are, beside a bound.

    python -m campaigns.apart [--sets base avx2] [--rows 300]

The primal problems of joint machines are strongly convex: a model whose primal value is within G of the dual one has
||w - w*||^2 <= 2 G, summed over the classes. So two models with the gaps G and H have decision values, before any
centering, within sqrt(k(x, x) + b0) (sqrt(2 G) + sqrt(2 H)) of each other, whatever rounding has done to either. Every
machine is fitted by each instruction set, in a process of its own; printed are the largest difference and the bound.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

MACHINES = ("scatter", "kesler", "crammer-singer", "llw", "adm", "ats", "atm", "reinforced", "ovr")
TOLERANCES = (1e-3, 1e-6)


def fitted(rows: int, seed: int) -> dict[str, dict]:
    """Decision values and the bound's half, by machine and tolerance, with the instructions that are in use."""
    from polymargin import JointSVC

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 4
    X = rng.normal(size=(rows, 6)) + rng.normal(size=(4, 6))[y]
    found = {}
    for machine in MACHINES:
        for tol in TOLERANCES:
            model = JointSVC(machine, C=10.0, gamma=0.2, tol=tol, n_jobs=1, intercept="regularized").fit(X, y)
            gap = abs(model.primal_objective_ - model.dual_objective_)
            half = float(np.sqrt(2 * 2 * gap))  # k(x, x) + 1 = 2
            scores = model.decision_function(X).tolist()
            found[f"{machine}, tol={tol:g}"] = {"scores": scores, "half": half, "gap": model.duality_gap_}
    return found


def elsewhere(simd: str, given: argparse.Namespace) -> dict[str, dict]:
    words = [sys.executable, "-m", "campaigns.apart", "--worker", "--rows", str(given.rows), "--seed", str(given.seed)]
    run = subprocess.run(
        words,
        env={**os.environ, "POLYMARGIN_SIMD": simd},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    said = json.loads(run.stdout) if run.returncode == 0 else {}
    if said.get("simd") != simd:
        raise SystemExit(f"{simd}: expected a processor that has it, got {said.get('simd', run.stderr[-500:])}")
    return said["found"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["base", "avx2"], help="instruction sets: base, avx2, avx512")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        from polymargin import _core

        print(json.dumps({"simd": _core.simd(), "found": fitted(given.rows, given.seed)}))
        return 0
    one, *others = (elsewhere(simd, given) for simd in given.sets)
    beyond = 0
    for other in others:
        for name, first in one.items():
            second = other[name]
            apart = np.abs(np.array(first["scores"]) - np.array(second["scores"])).max()
            bound = first["half"] + second["half"]
            beyond += not apart <= bound + 1e-12
            print(f"| {name} | {apart:.1e} | {bound:.1e} | {max(first['gap'], second['gap']):.1e} |", flush=True)
    print(f"{', '.join(given.sets)}: {len(one)} kinds, {given.rows} rows, {beyond} farther apart than their bound")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
