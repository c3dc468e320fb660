"""Move the notes of this folder into CHANGELOG.md, under its topmost version: `make changelog`."""

import textwrap
from pathlib import Path

KINDS = ("added", "changed", "fixed", "removed")


def collect(changelog: str, notes: dict[str, list[str]]) -> str:
    """The changelog with every note at the end of the list of its kind."""
    lines = changelog.splitlines()
    for kind in (kind for kind in KINDS if notes.get(kind)):
        first, end, *_ = [k for k, line in enumerate(lines) if line.startswith("## ")] + [len(lines)]
        heading = f"### {kind.capitalize()}"
        new = [line for note in notes[kind] for line in textwrap.wrap(f"- {note}", 120, subsequent_indent="  ")]
        if heading in lines[first:end]:
            at = lines.index(heading, first)
            end = next((k for k in range(at + 1, end) if lines[k].startswith("### ")), end)
        else:
            new = ["", heading, "", *new]
        while not lines[end - 1]:
            end -= 1
        lines[end:end] = new
    return "\n".join(lines) + "\n"


def main(root: Path) -> None:
    notes: dict[str, list[str]] = {}
    files = sorted((root / "changes.d").glob("*.*.md"))
    for file in files:
        kind = file.name.split(".")[1]
        if kind not in KINDS:
            raise SystemExit(
                f"expected {file.name} to be NAME.KIND.md with a kind of {', '.join(KINDS)}, got {kind!r}; rename it"
            )
        notes.setdefault(kind, []).append(" ".join(file.read_text().split()))
    changelog = root / "CHANGELOG.md"
    changelog.write_text(collect(changelog.read_text(), notes))
    for file in files:
        file.unlink()
    print(f"{len(files)} notes moved into {changelog.name}")


if __name__ == "__main__":
    main(Path(__file__).parents[1])
