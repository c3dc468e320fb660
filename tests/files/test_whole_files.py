"""A file that is written appears when it is complete; whoever stops the writing leaves what was there before."""

import os
import threading

import pytest

from polymargin.files.whole_files import whole_file, write_figure, write_text
from polymargin.papers import report


class Figure:
    """Stops in the middle of its file, or does not."""

    def __init__(self, stop=None):
        self.stop = stop

    def savefig(self, path, format):
        with open(path, "w") as file:
            file.write(f"half of a {format}")
            file.flush()
            if self.stop:
                raise self.stop


class Cells(list):
    """Of a table, of which the second cannot be written."""

    def __iter__(self):
        yield dict.fromkeys(report.FIELDS, "")
        raise KeyboardInterrupt


@pytest.mark.parametrize("before", [None, "former"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, MemoryError, OSError])
def test_a_stopped_write_leaves_what_was_there(before, stop, tmp_path):
    path = tmp_path / "picture.PNG"
    if before:
        path.write_text(before)
    with pytest.raises(stop):
        write_figure(Figure(stop()), path)
    with pytest.raises(KeyboardInterrupt):
        report.write_csv(path, Cells())
    assert [p.read_text() for p in tmp_path.iterdir()] == ([before] if before else [])
    assert write_figure(Figure(), path) == path and path.read_text() == "half of a png"


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError):
        write_text("text", tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_names(tmp_path):
    """A picture without an ending is PNG, a link is followed, lines stay as they are, a folder is refused."""
    assert write_figure(Figure(), tmp_path / "picture").name == "picture.png"
    (tmp_path / "link.csv").symlink_to(tmp_path / "there.csv")
    write_text("a\r\nb\n", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "there.csv").read_bytes() == b"a\r\nb\n"
    with pytest.raises(ValueError, match="folder or device"):
        write_text("", tmp_path)


def test_threads_that_write_the_same_file(tmp_path):
    path = tmp_path / "same"
    ready = threading.Barrier(4)

    def write(text):
        with whole_file(path) as part:
            part.write_text(text)
            ready.wait()

    threads = [threading.Thread(target=write, args=(letter * 100,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in [letter * 100 for letter in "abcd"] and len(list(tmp_path.iterdir())) == 1
