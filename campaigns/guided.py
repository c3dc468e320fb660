"""Changed files under the guidance of coverage: a file that reaches a new branch of the package is changed further.

Atheris (libFuzzer) instruments the package and keeps the files; `changes` are the mutations. An input is the number of
a sound file, which tells its name, a flag, and the changed content.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LONGEST = 1 << 18  # bytes of an input


def run(kind: str, folder: Path, given: argparse.Namespace) -> tuple[int, list[dict], int]:
    """Executions, findings and branches reached; a process that dies is a finding, and another goes on."""
    executions = edges = 0
    found: list[dict] = []
    end = time.monotonic() + given.seconds
    with tempfile.TemporaryDirectory() as corpus:
        while (left := end - time.monotonic()) > 5:
            seed = given.seed + len(found) + 1
            words = [kind, str(folder), corpus, str(int(left)), str(seed), str(given.keep or "")]
            command = [sys.executable, "-m", "campaigns.guided", *words]
            home = Path(__file__).parents[1]
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home
            ) as worker:
                last: list[str] = []
                for line in worker.stderr or ():
                    last = [*last[-30:], line]
                    if line.startswith("{"):
                        found.append(json.loads(line))
                        print(kind, line.strip(), flush=True)
                    edges = max([edges, *map(int, re.findall(r"\bcov: (\d+)", line))])
            counts = [re.match(r"#(\d+)\s", line) for line in last]
            executions += max([0, *(int(count[1]) for count in counts if count)])
            if worker.returncode:
                found.append({"found": f"the process ended with {worker.returncode}: {''.join(last[-12:])}"})
                print(kind, json.dumps(found[-1]), flush=True)
    return executions, found, edges


def work(kind: str, folder: Path, corpus: Path, seconds: str, seed: str, keep: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["polymargin"], enable_loader_override=False):
        import polymargin.files.readers  # noqa: F401
    from .fuzz import KINDS, bound, scratch_folder, tried

    scratch = scratch_folder()
    drawn = KINDS[kind](folder, Path(scratch.name))
    with atheris.instrument_imports(include=["polymargin"], enable_loader_override=False):
        drawn.warm()
    bound()
    for k, name in enumerate(drawn.names):
        (corpus / name).write_bytes(bytes([k, 0]) + drawn.sound[name])
    said = set()

    def once(data: bytes) -> None:
        if len(data) < 2:
            return
        name = drawn.names[data[0] % len(drawn.names)]
        trial = drawn.trial(name, data[2:], data[1])
        found = tried(trial)
        if found and (what := re.sub(r"\d+", "0", found)) not in said:  # each once
            said.add(what)
            print(json.dumps({"name": name, "found": found}), file=sys.stderr, flush=True)
            if keep:
                (Path(keep) / f"guided-{seed}-{len(said)}-{name}").write_bytes(data[2:])

    def mutated(data: bytes, size: int, number: int) -> bytes:
        rng = np.random.default_rng(number)
        kinds, content = data[:2].ljust(2, b"\0"), data[2:]
        name = drawn.names[kinds[0] % len(drawn.names)]
        if rng.random() < 0.2:
            kinds = bytes([kinds[0], int(rng.integers(256))])
        for _ in range(1 + int(rng.integers(3))):
            try:
                content = drawn.change(rng, name, content)
            except Exception:  # a broken archive cannot be taken apart: back to a sound one
                content = drawn.sound[name]
        return (kinds + content)[: min(size, LONGEST)]

    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={LONGEST}", "-timeout=0", "-rss_limit_mb=0"]
    atheris.Setup(["fuzz", *options, "-print_final_stats=1", str(corpus)], once, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    what, at, to, *rest = sys.argv[1:]
    work(what, Path(at), Path(to), *rest)
