"""Changes of files: bytes, values of descriptions, headers and numbers of arrays, archives, cells."""

import bz2
import contextlib
import copy
import functools
import gzip
import io
import json
import marshal
import struct
import warnings
import zipfile
import zlib

import numpy as np

BOMB = 1 << 27  # bytes that some kilobytes unfold to

NUMBERS = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**40, 2**61, 2**62, 2**63, 10**30, 10**400, -(10**30),
           0.5, 2.5, -0.25, -1e-300, 5e-324, 1e-300, 1e16, 1e150, 1e200, 1e308, True, False, None]  # fmt: skip
WORDS = ["", "auto", "rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "precomputed", "gaussian", "kesler",
         "scatter", "squared_hinge", "logistic", "exact", "regularized", "none", "pairwise", "joint", "dag", "512MB",
         "1e999GB", "0MB", "-1", "nan", "9" * 400 + "TB", "solved", "float32", "float16", "\0", "\ud800", "é" * 300,
         "accuracy", "roc_auc", "passthrough", "JointSVC", "balanced", "mean", "scale", "silverman"]  # fmt: skip
DTYPES = ["<f8", "<f4", "<f2", "<i8", "<i4", "|i1", "|u1", "|b1", ">f8", "<U3", "<U9999", "<c16", "<M8[s]", "|O", "|V8",
          "<f16", "|S5", "[('a', '<f8')]", "('<f8', (2,))", "{'names': []}", "x" * 100]  # fmt: skip
HEADERS = ["{", "(" * 900, "{'descr': '<f8', 'fortran_order': False, 'shape': (1e9,)}", "'\\N{x}'", "0x", "1" * 900,
           "{'descr': '<f8'}", "\t\t{\n  x\n y", "{'descr': 3, 'fortran_order': 0, 'shape': 0}", "'''", "\\",
           "lambda: 0", "{[]: 0}", "\x00", "é", "{**{}}", "-" * 900 + "1", "[" * 300 + "]" * 300]  # fmt: skip


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def changed_bytes(rng, data: bytes) -> bytes:
    data, way = bytearray(data), rng.integers(6)
    # The list of members is at the end of an archive, and so is the description of a Parquet file.
    low = max(0, len(data) - 1500) if rng.random() < 0.4 else 0
    at = int(rng.integers(low, max(low + 1, len(data))))
    if way <= 2:
        for _ in range(int(rng.integers(1, 6))):
            if data:
                data[int(rng.integers(low, len(data)))] = int(pick(rng, [0, 255, 1, 0x7F, rng.integers(256)]))
    elif way == 3:
        del data[at : at + int(pick(rng, [1, 2, 8, 100, 10**6]))]
    elif way == 4:
        data[at:at] = bytes(rng.integers(0, 256, int(pick(rng, [1, 4, 64])), dtype=np.uint8))
    else:
        to = int(rng.integers(0, len(data) + 1))
        data[to:to] = data[at : at + 64]
    return bytes(data)


def any_value(rng, depth=0):
    way = rng.integers(12)
    if way < 5:
        return pick(rng, NUMBERS)
    if way < 8:
        return pick(rng, WORDS)
    if depth > 3:
        return None
    inner = [any_value(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    return pick(
        rng,
        [
            inner,
            {"tuple": inner},
            {"dict": [[v, v] for v in inner]},
            {"dict": inner},
            {"float": pick(rng, ["inf", "-inf", "nan", "1"])},
            {"labels": [pick(rng, ["object", "<U1", "<U9999", "<U999999999"]), inner]},
            {"labels": ["<U999999", ["a"] * 40 + ["b"]]},
            {"scalar": [pick(rng, ["float64", "int8", "bool", "uint64", "float16"]), inner[0] if inner else 2.5]},
            {"array": int(rng.integers(-1, 12))},
            {"csr": [*inner, [3, 3], "array"]},
            {"estimator": ["JointSVC", {}, {}]},
        ],
    )


def places(node, found):
    for key, value in node.items() if type(node) is dict else enumerate(node):
        found.append((node, key))
        if type(value) is dict or type(value) is list:
            places(value, found)
    return found


def changed_values(rng, document) -> None:
    """Some values of a description replaced, moved or taken out."""
    for _ in range(int(pick(rng, [1, 1, 1, 2, 4]))):
        found = places(document, [])
        # Parameters and fitted attributes are few among the values, and each has rules of its own.
        estimators = [node[key] for node, key in found if key == "estimator" and isinstance(node[key], list)]
        parts = [part for estimator in estimators for part in estimator[1:] if isinstance(part, dict)]
        named = [(part, name) for part in parts for name in part]
        node, key = pick(rng, named if named and rng.random() < 0.6 else found)
        old, way = node[key], rng.integers(10)
        if way < 3 and isinstance(old, int | float) and not isinstance(old, bool):
            node[key] = pick(rng, [old + 1, old - 1, -old, old * 10, old // 3, old * 10**30])
        elif way < 7:
            node[key] = any_value(rng)
        elif way == 7:
            other, at = pick(rng, found)
            node[key] = copy.deepcopy(other[at])
        elif way == 8:
            del node[key]
        elif isinstance(old, list):
            old[:] = old * int(pick(rng, [0, 2, 3]))
        if not document:
            break


def changed_array(rng, data: bytes) -> bytes:
    """An array with other numbers, another type or shape, or another header."""
    way = rng.integers(10)
    if way == 0:
        text = pick(rng, HEADERS).encode("latin1") if rng.random() < 0.5 else repr(
            {"descr": pick(rng, DTYPES), "fortran_order": bool(rng.integers(2)),
             "shape": pick(rng, [(), (3,), (-1,), (10**15,), (2**32, 2**32), (2**63,), (True,), (0, 10**18)])}
        ).encode("latin1")  # fmt: skip
        version = int(pick(rng, [1, 1, 1, 2, 3, 9]))
        size = len(text).to_bytes(2 if version == 1 else 4, "little")
        return b"\x93NUMPY" + bytes([version, 0]) + size + text + data[128:]
    array = np.load(io.BytesIO(data))
    if way <= 4 and array.size and array.dtype.kind in "iufb":
        with np.errstate(all="ignore"):
            value = np.array(pick(rng, [np.nan, np.inf, -1, 0, 1, 2, 1e300, -1e200, 1e-320, 2**62, 10**6])).astype(
                array.dtype
            )
        array.flat[int(rng.integers(array.size))] = value
        if rng.random() < 0.2:
            array[...] = value
    elif way == 5:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(ValueError):
                array = array.astype(pick(rng, ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "?", ">f8", "U3", "c16"]))
    elif way == 6:
        array = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif way == 7:
        array = pick(
            rng, [array.T, array.ravel(), array[None], array[..., :1], array[..., :0], np.asfortranarray(array)]
        )
    elif way == 8:
        array = np.concatenate([array, array[:1]]) if array.ndim else array
    else:
        array = np.flip(array)
    out = io.BytesIO()
    np.lib.format.write_array(out, array)
    return out.getvalue()


def packed(members: dict[str, bytes]) -> bytes:
    """An archive of stored members; zipfile takes ten times as long."""
    parts, listed, at = [], [], 0
    for name, data in members.items():
        words = name.encode()
        facts = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(words), 0)
        parts += [b"PK\3\4", facts, words, data]
        listed += [b"PK\1\2\x14\0", facts, struct.pack("<HHHII", 0, 0, 0, 0, at), words]
        at += 30 + len(words) + len(data)
    size, count = sum(map(len, listed)), len(members)
    return b"".join([*parts, *listed, b"PK\5\6", struct.pack("<HHHHIIH", 0, 0, count, count, size, at, 0)])


def strangely_packed(rng, members: dict[str, bytes]) -> bytes:
    """An archive with members compressed, twice, renamed, in another order, or that lies about them."""
    out, names = io.BytesIO(), list(members)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(out, "w") as archive:
            way = rng.integers(8)
            if way == 0:
                rng.shuffle(names)
            elif way == 1:
                names.append(pick(rng, names))
            elif way == 2:
                members = members | {pick(rng, ["../x", "evil.py", f"arrays/{len(names) - 1}.npy", "model.json/"]): b""}
                names = list(members)
            elif way == 3:
                names.remove(pick(rng, names))
            how = [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
            for name in names:
                kind = pick(rng, how) if way == 4 and rng.random() < 0.5 else zipfile.ZIP_STORED
                archive.writestr(zipfile.ZipInfo(name), members[name], compress_type=kind)
            info = pick(rng, archive.infolist()) if names else None
            if way == 5 and info:
                lie = pick(rng, ["file_size", "compress_size", "header_offset", "CRC", "flag_bits", "compress_type"])
                few = lie in ("flag_bits", "compress_type")
                setattr(info, lie, pick(rng, [0, 1, 8, 9, 12, 14, 99] if few else [0, 1, 1000, 2**31, 2**32 - 1]))
            elif way == 6 and info:
                info.file_size = info.compress_size = int(pick(rng, [2**33, 2**40, 2**62]))
            elif way == 7:
                archive.comment = bytes(rng.integers(0, 256, 200, dtype=np.uint8))
    return out.getvalue()


@functools.lru_cache(maxsize=64)  # the sound files, again and again
def members_of(data: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


@functools.lru_cache(maxsize=64)
def description(data: bytes) -> bytes:
    """JSON in a form that is read twice as fast."""
    return marshal.dumps(json.loads(data))


def changed_model(rng, data: bytes) -> bytes:
    way = rng.integers(10)
    if way < 2:
        return changed_bytes(rng, data)
    members = dict(members_of(data))
    if way < 7:
        document = marshal.loads(description(members["model.json"]))
        changed_values(rng, document)
        members["model.json"] = json.dumps(document).encode()
    elif way < 9 and len(members) > 1:
        name = pick(rng, [name for name in members if name != "model.json"])
        members[name] = changed_array(rng, members[name])
    return strangely_packed(rng, members) if way == 9 else packed(members)


CELLS = ["", "?", "1e999", "-inf", "nan", "1" * 400, "0x1p3", "1_000", "١٢", '"', '""', "'", "\0", "\r", "\n",
         "\r\n\r\n", ",", ";", "\t", ",,,,", "#", ":", "1:1", "99999999999999999999:1", "2147483648:1", "0:1", "-1:1",
         "qid:1", "1e30:1", "9999-99-99", "0000-01-01", "2021-04-28T10:30Z", "99999-01-01", "é", "\u2028", "\ufeff",
         "True", "1,5", "2021-04-28 10:30:00.123456789123+99:99", "\x1c", "\x85"]  # fmt: skip
LONG_CELL = "x" * 200_000


def changed_text(rng, data: bytes) -> bytes:
    text = data.decode(errors="replace")
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(text) + 1))
        cut = int(pick(rng, [0, 0, 1, 1, 5, 60]))
        cell = LONG_CELL if rng.random() < 0.002 else pick(rng, CELLS)
        text = text[:at] + cell + text[at + cut :]
    if rng.random() < 0.1:
        text = text[: int(rng.integers(len(text) + 1))]
    coding = pick(rng, ["utf-8"] * 8 + ["utf-16", "latin1"])
    return text.encode(coding, errors="replace")


@functools.cache
def bomb(pattern: bytes, pack) -> bytes:
    """Some kilobytes that unfold to BOMB bytes."""
    return 128 * pack(pattern * (BOMB // 128 // len(pattern)))  # one piece after another is as good as a whole


def changed_table(rng, name: str, data: bytes) -> bytes:
    if rng.random() < 0.3:
        return changed_bytes(rng, data)
    if name.endswith(".npz"):
        members = dict(members_of(data))
        if rng.random() < 0.7:
            which = pick(rng, list(members))
            members[which] = changed_array(rng, members[which])
        return strangely_packed(rng, members) if rng.random() < 0.5 else packed(members)
    if name.endswith(".parquet"):
        return changed_bytes(rng, data)
    for ending, unpack, pack in ((".gz", gzip.decompress, gzip.compress), (".bz2", bz2.decompress, bz2.compress)):
        if name.endswith(ending):
            if rng.random() < 0.001:  # unfolds to thousands of times its size
                return bomb(pick(rng, [b"1,2\n", b"0", b"1 1:1\n"]), pack)
            return pack(changed_text(rng, unpack(data)), 1)  # with less effort, ten times as fast
    return changed_text(rng, data)
