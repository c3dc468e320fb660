"""How often the campaigns were run: `--count` of a campaign adds a line to counts.json, and this prints the sums.

    python -m campaigns.counts

A line has the campaign, what of it was tried, the commit, the seed, the number of trials and the findings. The same
seed of the same code tries the same again and is counted once.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HOME = Path(__file__).parents[1]
COUNTS = Path(__file__).with_name("counts.json")
SAME = ("campaign", "what", "commit", "seed", "first")  # of two lines that tried the same


def commit() -> str:
    """The commit that is checked out, with a plus if other files than the counts differ from it."""

    def said(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HOME, capture_output=True, text=True).stdout.strip()

    differ = said("status", "--porcelain", "--untracked-files=no", "--", ".", ":!campaigns/counts.json")
    return (said("describe", "--always", "--abbrev=7", "--exclude=*") or "unknown") + ("+" if differ else "")


def add(campaign: str, what: str, trials: int, findings: int, seed: int, first: int = 0) -> None:
    """Count a run; of runs that tried the same, the one with the most trials stays."""
    line = {"campaign": campaign, "what": what, "date": datetime.now(UTC).date().isoformat(), "commit": commit()}
    line |= {"seed": seed, "first": first, "trials": trials, "findings": findings}
    lines = json.loads(COUNTS.read_text()) if COUNTS.exists() else []
    key = [line[k] for k in SAME]
    former = [other for other in lines if [other[k] for k in SAME] == key]
    lines = [other for other in lines if other not in former]
    lines.append(max([line, *former], key=lambda other: other["trials"]))
    COUNTS.write_text("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n")


def sums(lines: list[dict]) -> dict[tuple[str, str], dict]:
    """Trials, findings, commits and the last day of every campaign and part of it."""
    found: dict[tuple[str, str], dict] = {}
    for line in lines:
        row = found.setdefault(
            (line["campaign"], line["what"]), {"trials": 0, "findings": 0, "commits": set(), "last": ""}
        )
        row["trials"] += line["trials"]
        row["findings"] += line["findings"]
        row["commits"].add(line["commit"])
        row["last"] = max(row["last"], line["date"])
    return found


def main() -> int:
    for (campaign, what), row in sorted(sums(json.loads(COUNTS.read_text())).items()):
        numbers = f"{row['trials']:,} | {row['findings']} | {len(row['commits'])} | {row['last']}"
        print(f"| {campaign} | {what} | {numbers} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
