"""Random problems whose claims are recomputed: python -m benchmarks.honesty --problems 10000 --seed S

Every fit reports a status, a primal and a dual value, a gap and a violation. Here they are recomputed from the model by
the plain definitions, in float64 or better, on random problems over all machines, losses, intercepts, kernels and forms
of storage (`honest_problems.py`). A claim that is false beyond rounding (`honest_checks.py` states the bounds), a fit
that ignores its limits, an error or a crash is a violation: it is printed with the problem, and the exit code is 1.

    python -m benchmarks.honesty --seed S --only N      problem N alone, with all that is claimed
"""

import argparse
import collections
import json
import multiprocessing
import multiprocessing.connection
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

from campaigns import counts

from .honest_problems import make

STUCK = 300.0  # seconds after which a worker is given up; the naive kernel on 3,000 rows takes some of them
COLUMNS = ("primal", "dual", "gap", "kkt", "scores", "infeasible")


def run_one(seed, number):
    """One problem: what it is, how it ended, deviations and violations."""
    from .honest_checks import Checks
    from .honest_values import has_no_minimum

    problem = make(seed, number)
    out = dict(number=number, kind=problem.kind, status="error", worst={}, found=[], text=problem.describe())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        begin = time.perf_counter(), time.process_time()
        try:
            model = problem.model().fit(problem.X, problem.y, sample_weight=problem.weight)
        except Exception as error:
            if isinstance(error, ValueError) and "no minimum" in str(error) and has_no_minimum(problem):
                return out | dict(status="refused")
            out["found"] = [("error", f"{type(error).__name__}: {error}")]
            return out
        spent = time.perf_counter() - begin[0], time.process_time() - begin[1]
        out |= dict(status=model.status_, seconds=spent[0])
        try:
            checks = Checks(problem, model, *spent)
        except Exception:
            out["found"] = [("check", traceback.format_exc(limit=-3))]
            return out
    names = ("status_", "primal_objective_", "dual_objective_", "duality_gap_", "kkt_violation_", "n_iter_")
    out["claims"] = {k: getattr(model, k) for k in names if hasattr(model, k)}
    out |= dict(worst={k: float(v) for k, v in checks.worst.items()}, found=list(dict.fromkeys(checks.found)))
    return out


def work(pipe, seed):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    while (number := pipe.recv()) is not None:
        pipe.send(run_one(seed, number))


class Team:
    """Worker processes, one problem at a time each; one that dies or hangs is replaced."""

    def __init__(self, size, seed):
        self.context, self.seed = multiprocessing.get_context("spawn"), seed
        self.workers = [self.start() for _ in range(size)]

    def start(self):
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=work, args=(theirs, self.seed), daemon=True)
        process.start()
        theirs.close()
        return dict(pipe=ours, process=process, number=None, since=0.0)

    def run(self, numbers):
        """Results in the order in which they come."""
        numbers, busy = iter(numbers), True
        while busy:
            for w in self.workers:
                if w["number"] is None and (number := next(numbers, None)) is not None:
                    w["pipe"].send(number)
                    w |= dict(number=number, since=time.monotonic())
            busy = [w for w in self.workers if w["number"] is not None]
            ready = multiprocessing.connection.wait([w["pipe"] for w in busy], 1.0) if busy else []
            for k, w in enumerate(self.workers):
                if w["number"] is None:
                    continue
                late = time.monotonic() - w["since"] > STUCK
                if w["pipe"] in ready:
                    try:
                        yield w["pipe"].recv()
                        w["number"] = None
                        continue
                    except EOFError:
                        what = ("crash", f"the process ended with code {w['process'].exitcode}")
                elif late:
                    what = ("stuck", f"no end after {STUCK:g} s")
                else:
                    continue
                w["process"].kill()
                self.workers[k] = self.start()
                problem = make(self.seed, w["number"])
                yield dict(number=w["number"], kind=problem.kind, status="lost", worst={}, found=[what],
                           text=problem.describe())  # fmt: skip

    def end(self):
        for w in self.workers:
            w["process"].kill()


def report(results, seconds):
    """Counts per kind, the worst deviations, violations by check."""
    kinds = collections.defaultdict(list)
    for r in results:
        kinds[r["kind"]].append(r)
    print(f"\n{'kind':<48}{'fits':>6}{'solved':>8}{'wrong':>7}" + "".join(f"{c:>11}" for c in COLUMNS))
    for kind, rs in sorted(kinds.items()):
        largest = (max((r["worst"][c] for r in rs if c in r["worst"]), default=np.nan) for c in COLUMNS)
        wrong = sum(bool(r["found"]) for r in rs)
        solved = sum(r["status"] == "solved" for r in rs)
        print(f"{kind:<48}{len(rs):>6}{solved:>8}{wrong:>7}" + "".join(f"{v:>11.1e}" for v in largest))
    names = collections.Counter(name for r in results for name in dict(r["found"]))
    states = collections.Counter(r["status"] for r in results)
    wrong = sum(bool(r["found"]) for r in results)
    print(f"\n{len(results):,} problems in {seconds:.0f} s: {dict(states)}")
    print(f"{wrong:,} with violations" + (f", by check: {dict(names)}" if wrong else ""))
    return wrong


def show(r, seed):
    print(f"\nVIOLATION in problem {r['number']} ({r['kind']}): python -m benchmarks.honesty --seed {seed} "
          f"--only {r['number']}\n    {r['text']}")  # fmt: skip
    for name, sentence in r["found"]:
        print(f"    {name}: {sentence}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.honesty", description="claims of fits, recomputed")
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--only", type=int, help="run this problem alone, here")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--out", type=Path, help="file of JSON lines, one per problem with a violation")
    parser.add_argument("--count", action="store_true", help="add the numbers to campaigns/counts.json")
    args = parser.parse_args()
    if args.only is not None:
        r = run_one(args.seed, args.only)
        print(r["text"], *(f"    {k} = {v}" for k, v in (r.get("claims", {}) | r["worst"]).items()), sep="\n")
        for name, sentence in r["found"]:
            print(f"VIOLATION {name}: {sentence}")
        return bool(r["found"])
    team, results, begin, said = Team(args.jobs, args.seed), [], time.monotonic(), 0.0
    try:
        for r in team.run(range(args.first, args.first + args.problems)):
            results.append(r)
            if r["found"]:
                show(r, args.seed)
                if args.out:
                    with args.out.open("a") as file:
                        file.write(json.dumps({k: r[k] for k in ("number", "kind", "status", "found", "text")}) + "\n")
            now = time.monotonic()
            if now - said > 10:
                said, done = now, len(results)
                left = (now - begin) / done * (args.problems - done)
                wrong = sum(bool(r["found"]) for r in results)
                print(f"{done:,} of {args.problems:,}, {wrong} wrong, about {left / 60:.0f} min left", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped; this was found so far")
    finally:
        team.end()
    wrong = report(results, time.monotonic() - begin)
    if args.count:
        counts.add("honesty", "problems", len(results), wrong, args.seed, args.first)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
