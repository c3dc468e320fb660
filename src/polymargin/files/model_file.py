"""Models in files: plain arrays and JSON in one zip archive, nothing that could run.

    model.json        {"format": "polymargin", "version": 1, "written_by": {...}, "model": an estimator}
    arrays/0.npy ...  the arrays that model.json refers to by number, as NumPy writes them, without pickles

Members are stored, not compressed, and begin at multiples of 64 bytes: a file cannot decompress into more than its own
size, and arrays can be mapped into memory.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..version import __version__
from .kinds import NUMBERS, is_fitted
from .values import BadFile, decode, encode
from .whole_files import destination, whole_file

FORMAT, VERSION = "polymargin", 1
ALIGNMENT = 64
LARGEST_JSON = 1 << 26  # bytes; the decoded values take up to a hundred times as many
LONGEST_HEADER = 4096  # of a .npy member
TYPES = {np.dtype(name).str.encode(): np.dtype(name) for name in NUMBERS}  # by their names in headers
# As NumPy writes it, to the letter: nothing else is evaluated.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<>|]\w{2,3})', 'fortran_order': False, "
    rb"'shape': \((?P<shape>(?:[0-9]{1,19}, ?)*(?:[0-9]{1,19})?)\), \} *\n",
    re.DOTALL,
)


# --- writing ----------------------------------------------------------------------------------------------------------


def save_model(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model to a file of plain data.

    The file is written beside its final name first and then renamed, so a full disk or an interruption leaves an older
    file as it was.

    Parameters
    ----------
    model : fitted estimator
        An estimator of this library, or a pipeline of one behind scikit-learn's scalers. A callable kernel is code and
        cannot be stored here; use pickle or skops.
    path : str or path
        The file, by custom with the ending `.pm`.

    Returns
    -------
    path : Path
        The file.

    See Also
    --------
    load_model : reads it again.
    polymargin.onnx.to_onnx : for programs without Python.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import JointSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(JointSVC(C=10).fit(X, y), f"{folder}/iris.pm")
    ...     load_model(path).predict(X[[0, 75, 149]])
    array([0, 1, 2])
    """
    path = destination(path)
    check_is_fitted(model)
    arrays: list[np.ndarray] = []
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {"polymargin": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "model": encode(model, arrays, type(model).__name__),
    }
    text = json.dumps(document, allow_nan=False, indent=1).encode()
    if len(text) > LARGEST_JSON:
        raise ValueError(
            f"expected the description in a model file to take at most {LARGEST_JSON >> 20} MB, got "
            f"{len(text) >> 20} MB of labels and other lists; use pickle or skops instead"
        )
    try:
        with whole_file(path) as part, open(part, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(zipfile.ZipInfo("model.json"), text)
            for k, array in enumerate(arrays):
                write_array(archive, file, f"arrays/{k}.npy", array)
    except OSError as error:
        raise OSError(
            error.errno, f"could not write the model, {error.strerror}; what was at {path} before is still there"
        ) from error
    return path


def write_array(archive: zipfile.ZipFile, file: BinaryIO, name: str, array: np.ndarray) -> None:
    """Add a member whose data begin at a multiple of ALIGNMENT: an extra field fills the gap."""
    info = zipfile.ZipInfo(name)
    large = array.nbytes > 1 << 31
    begin = file.tell() + 30 + len(name) + 4 + (20 if large else 0)  # zipfile adds 20 bytes for long members
    gap = -begin % ALIGNMENT
    info.extra = struct.pack("<HH", 0x4D50, gap) + bytes(gap)
    with archive.open(info, "w", force_zip64=large) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


# --- reading ----------------------------------------------------------------------------------------------------------


def load_model(path: str | os.PathLike[str], *, mmap: bool = False) -> Any:
    """Read a model that `save_model` has written.

    No code in the file is run, and everything is checked before use: a file from an unknown source can give wrong
    predictions, but nothing worse.

    Parameters
    ----------
    path : str or path
        The file.
    mmap : bool, default=False
        Map the arrays into memory instead of reading them: processes that load the same file share them. The file must
        not be changed while the model is in use (`save_model` replaces files, which is safe).

    Returns
    -------
    model : fitted estimator
        The model that was saved.

    Raises
    ------
    ValueError
        If the file is not a sound model file, whatever is wrong with it.
    OSError
        If there is no such file, or it cannot be opened.

    See Also
    --------
    save_model : writes the file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from polymargin import PairwiseSVC, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_model(save_model(PairwiseSVC().fit(X, y), f"{folder}/iris.pm"), mmap=True).score(X, y) > 0.95
    True
    """
    path = Path(path)
    if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
        raise ValueError(f"{path}: expected a polymargin model file, got a folder or device; name a file")
    try:
        with open(path, "rb") as file:
            return understood(file, path, mmap)
    except OSError as error:
        raise OSError(
            error.errno, f"could not read the model {path}, {error.strerror}; name a file that can be read"
        ) from error


def understood(file: BinaryIO, path: Path, mmap: bool) -> Any:
    """The model in a file; whatever is wrong with it is said in a ValueError."""
    try:
        return read(file, mmap)
    except BadFile as error:
        raise ValueError(f"{path}: expected a sound polymargin model file, got {error}") from None
    except MemoryError as error:
        raise ValueError(
            f"{path}: expected a polymargin model file that fits into memory, got a larger one; free some, or use "
            f"mmap=True"
        ) from error
    except Exception as error:  # the readers of archives, JSON and arrays raise almost anything for a broken file
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ValueError(
            f"{path}: expected a polymargin model file, got {broken(file)} ({what}); save or copy the model again"
        ) from error


def broken(file: BinaryIO) -> str:
    """What a file that cannot be read seems to be."""
    file.seek(0)
    start = file.read(4)
    if not start:
        return "an empty file"
    return "a broken one, or the beginning of one" if start == b"PK\3\4" else "something else"


def read(file: BinaryIO, mmap: bool) -> Any:
    size = os.fstat(file.fileno()).st_size
    with zipfile.ZipFile(file) as archive:
        mapped = np.asarray(np.memmap(file, np.uint8, "r")) if mmap else None
        members = {info.filename: info for info in archive.infolist()}
        check_members(archive, members, size)
        try:
            with archive.open(members["model.json"]) as member:
                document = json.loads(member.read().decode("utf-8"), parse_constant=refuse_constant)
        except ValueError as error:
            raise BadFile(f"a description that is not JSON ({error})") from None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise BadFile("the description of something else")
        version = document.get("version")
        if type(version) is not int or version < 1:
            raise BadFile(f"the format version {version!r}")
        if version > VERSION:
            raise BadFile(
                f"format version {version}, while this library reads versions up to {VERSION}; upgrade polymargin"
            )
        arrays = {k: read_array(file, members[f"arrays/{k}.npy"], mapped) for k in range(len(members) - 1)}
    model = decode(document.get("model"), arrays)
    if arrays:
        raise BadFile("arrays that the description does not mention")
    if not isinstance(model, BaseEstimator) or not is_fitted(model):
        raise BadFile("no fitted estimator in the description")
    return model


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} in place of a finite number")


def check_members(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], size: int) -> None:
    """The members of the archive must be ours, stored as they are, and together no longer than the file."""
    wanted = {"model.json", *(f"arrays/{k}.npy" for k in range(len(members) - 1))}
    if set(members) != wanted or len(archive.infolist()) != len(members):
        raise BadFile("an archive of something else")
    for info in members.values():
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size != info.compress_size:
            raise BadFile("compressed or encrypted members")
    if sum(info.file_size for info in members.values()) > size:
        raise BadFile("members that are longer than the file")
    if members["model.json"].file_size > LARGEST_JSON:
        raise BadFile("a description of unlikely length")


def read_array(file: Any, info: zipfile.ZipInfo, mapped: np.ndarray | None) -> np.ndarray:
    """An array of the archive, read, or a part of the mapped file."""
    file.seek(info.header_offset)
    local = file.read(30)
    if local[:4] != b"PK\3\4" or len(local) < 30:
        raise BadFile("a member without a header")
    begin = info.header_offset + 30 + sum(struct.unpack("<HH", local[26:30]))
    if begin + info.file_size > os.fstat(file.fileno()).st_size:
        raise BadFile("an array that extends beyond the end of the file")
    if mapped is not None:
        whole = mapped[begin : begin + info.file_size]
    else:
        whole = np.empty(info.file_size, np.uint8)
        file.seek(begin)
        file.readinto(whole)
    if zlib.crc32(whole.data) != info.CRC:
        raise BadFile("an array with a wrong checksum")
    dtype, shape, offset = array_header(whole)
    array = whole[offset:].view(dtype).reshape(shape)
    if array.dtype == bool and np.any(array.view(np.uint8) > 1):
        raise BadFile("booleans other than 0 and 1")
    return array


def array_header(whole: np.ndarray) -> tuple[np.dtype, tuple[int, ...], int]:
    """Type and shape of an array, and where its numbers begin."""
    found = HEADER.match(whole[:LONGEST_HEADER].tobytes())
    if found is None or found.end() != 10 + int.from_bytes(found["length"], "little"):
        raise BadFile("an array of an unknown type or shape")
    dtype, shape = TYPES.get(found["type"]), tuple(map(int, found["shape"].replace(b",", b" ").split()))
    if dtype is None:
        raise BadFile(f"an array of type {found['type'].decode()}")
    if math.prod(shape) * dtype.itemsize != len(whole) - found.end():
        raise BadFile("an array whose shape does not match its length")
    return dtype, shape, found.end()
