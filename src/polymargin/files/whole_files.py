"""Files that appear only when they are complete: whatever stops the writing, the earlier file stays."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GLYPH = r"Glyph (\d+) .*missing from"  # matplotlib's warning about a letter that the font lacks


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """`with whole_file(path) as part:` write to `part`, which then takes the name `path`.

    It lies in the same folder, where renaming is atomic, and its name begins with a dot.
    """
    path = destination(path)
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield part
        with open(part, "rb") as file:  # after a crash, the name must not be there without the content
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def destination(path: str | os.PathLike[str]) -> Path:
    """Where a finished file may be moved to: the target of a link, and never a device, which it would replace."""
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file():
        raise ValueError(f"expected the name of a file to write, got the folder or device {path}; name a file")
    return path


def write_text(text: str, path: str | os.PathLike[str]) -> Path:
    """Write a text file, whole."""
    with whole_file(path) as part:
        part.write_text(text, "utf-8", newline="")
    return Path(path)


def write_figure(figure: Any, path: str | os.PathLike[str], **how: Any) -> Path:
    """Write a figure of matplotlib, whole, in the format that the name ends with; PNG by default."""
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    with whole_file(path) as part, warnings.catch_warnings(record=True) as heard:
        warnings.filterwarnings("always", message=GLYPH)
        figure.savefig(part, format=path.suffix[1:].lower(), **how)
    lacking = {chr(int(found[1])) for w in heard if (found := re.match(GLYPH, str(w.message)))}
    for told in heard:
        if not re.match(GLYPH, str(told.message)):
            warnings.warn_explicit(told.message, told.category, told.filename, told.lineno)
    if lacking:
        shown = " ".join(sorted(lacking)[:5]) + (" ..." if len(lacking) > 5 else "")
        warnings.warn(f"{path}: the font of the picture lacks {shown}, drawn as boxes", stacklevel=2)
    return path


@contextmanager
def quiet_fonts() -> Iterator[None]:
    """Without matplotlib's warnings about every letter that a font lacks; `write_figure` warns once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=GLYPH)
        yield
