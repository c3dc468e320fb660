"""Files that appear only when they are complete: whoever stops the writing leaves what was there before."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """`with whole_file(path) as part:` write to `part`, which then takes the name `path`.

    It lies in the same folder, since only there a file can be renamed at once, and its name begins with a dot.
    """
    path = destination(path)
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield part
        with open(part, "rb") as file:  # a crash of the machine must not find the name before the content
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
    """Write a figure of matplotlib, whole; the end of the name tells its format, and without one it is PNG."""
    path = Path(path)
    path = path if path.suffix else path.with_suffix(".png")
    with whole_file(path) as part, quiet_fonts():
        figure.savefig(part, format=path.suffix[1:].lower(), **how)
    if missing := unknown_letters(figure):
        shown = " ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        warnings.warn(f"{path}: the font of the picture lacks {shown}, which is drawn as boxes", stacklevel=2)
    return path


@contextmanager
def quiet_fonts() -> Iterator[None]:
    """Matplotlib warns of every letter that a font lacks whenever it measures or draws it; `write_figure` does once."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def unknown_letters(figure: Any) -> list[str]:
    """Characters in a figure that none of its fonts has."""
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.text import Text

    letters = {c for text in figure.findobj(Text) if text.get_visible() for c in text.get_text() if c.isprintable()}
    known = get_font(findfont(FontProperties())).get_charmap()
    return sorted(c for c in letters if ord(c) not in known)
