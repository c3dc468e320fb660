"""README.md as the package index shows it, where there are no other files: its links go to those of the release."""

import re
import runpy
import tomllib
from pathlib import Path

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!\w+:|#)([^)\s]+)\)")


def dynamic_metadata(field, settings):
    """What the build backend asks for, in the folder of the project."""
    source = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    tag = "v" + runpy.run_path("src/polymargin/version.py")["__version__"]

    def absolute(link):
        picture, text, path = link.groups()
        return f"{picture}{text}({source}/{'raw' if picture else 'blob'}/{tag}/{path})"

    return {"content-type": "text/markdown", "text": LINK.sub(absolute, Path("README.md").read_text(encoding="utf-8"))}
