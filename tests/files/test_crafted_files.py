"""Model files that were crafted or damaged: refused with a sentence, or harmless."""

import copy
import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from data_sets import blobs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import Crafted, assert_same_model, npy, pack, set_at, unpack

from polymargin import (
    AutoSVC,
    JointSVC,
    OneVsRestSVC,
    PairwiseSVC,
    load_model,
    save_model,
)

X, y = blobs([14, 11, 9], 4, seed=3)


# --- crafted files ----------------------------------------------------------------------------------------------------


CHANGES = {
    "a NaN": lambda f: f.change("support_vectors_", set_at((0, 0), np.nan)),
    "an infinity": lambda f: f.change("intercept_", set_at(0, np.inf)),
    "too few features": lambda f: f.change("support_vectors_", lambda Z: Z[:, :3]),
    "turned around": lambda f: f.change("support_vectors_", lambda Z: np.ascontiguousarray(Z.T)),
    "a row too many": lambda f: f.change("support_vectors_", lambda Z: np.vstack([Z, Z[:1]])),
    "flat": lambda f: f.change("support_vectors_", np.ravel),
    "integers": lambda f: f.change("support_vectors_", lambda Z: Z.astype(np.int64)),
    "half": lambda f: f.change("support_vectors_", lambda Z: Z.astype(np.float16)),
    "big-endian": lambda f: f.change("support_vectors_", lambda Z: Z.astype(">f8")),
    "column order": lambda f: f.change("support_vectors_", np.asfortranarray),
    "complex": lambda f: f.change("intercept_", lambda b: b.astype(complex)),
    "text": lambda f: f.change("intercept_", lambda b: b.astype("U5")),
    "wrong float": lambda f: f.change("intercept_", lambda b: b.astype(np.float32)),
    "no scalar": lambda f: f.change("intercept_", lambda b: b[0]),
    "row outside": lambda f: f.change("support_", set_at(-1, 10_000)),
    "negative row": lambda f: f.change("support_", set_at(0, -1)),
    "unsorted rows": lambda f: f.change("support_", lambda s: s[::-1].copy()),
    "negative alpha": lambda f: f.change("dual_coef_", set_at(0, -1.0)),
    "NaN alpha": lambda f: f.change("dual_coef_", set_at(0, np.nan)),
    "alpha short": lambda f: f.change("dual_coef_", lambda a: a[:-1]),
    "index outside": lambda f: f.change("dual_coef_", set_at(0, 10_000), part=1),
    "index negative": lambda f: f.change("dual_coef_", set_at(0, -5), part=1),
    "index twice": lambda f: f.change("dual_coef_", set_at(0, 1), part=1),
    "segments fall": lambda f: f.change("dual_coef_", set_at(1, 10_000), part=2),
    "segments short": lambda f: f.change("dual_coef_", lambda p: p[:-1], part=2),
    "segments late": lambda f: f.change("dual_coef_", set_at(0, 1), part=2),
    "too many counted": lambda f: f.change("n_support_", set_at(0, 1000)),
    "sum of alpha": lambda f: f.parameters.update(nu=0.5),
    "one class": lambda f: f.fitted.update(classes_={"labels": ["object", ["a"]]}),
    "four classes": lambda f: f.fitted.update(classes_={"labels": ["object", list("abcd")]}),
    "classes unsorted": lambda f: f.fitted.update(classes_={"labels": ["<U1", list("acb")]}),
    "classes twice": lambda f: f.fitted.update(classes_={"labels": ["<U1", list("aab")]}),
    "classes mixed": lambda f: f.fitted.update(classes_={"labels": ["object", ["a", 1, None]]}),
    "classes cut": lambda f: f.fitted.update(classes_={"labels": ["<U1", ["a", "b", "cc"]]}),
    "classes of a strange type": lambda f: f.fitted.update(classes_={"labels": ["<M8[s]", list("abc")]}),
    "kernel": lambda f: f.parameters.update(kernel="gaussian"),
    "another kernel": lambda f: f.parameters.update(kernel="linear"),
    "precomputed": lambda f: f.parameters.update(kernel="precomputed"),
    "another machine": lambda f: f.parameters.update(machine="kesler"),
    "C": lambda f: f.parameters.update(C=-1.0),
    "infinite tol": lambda f: f.parameters.update(tol={"float": "inf"}),
    "unknown parameter": lambda f: f.parameters.update(fit=1),
    "unknown attribute": lambda f: f.fitted.update(predict=1),
    "dunder": lambda f: f.fitted.update(__class__="JointSVC"),
    "gamma": lambda f: f.fitted.update(gamma_=-1.0),
    "no gamma": lambda f: f.fitted.update(gamma_=None),
    "no status": lambda f: f.fitted.pop("status_"),
    "status": lambda f: f.fitted.update(status_="fine"),
    "score type": lambda f: f.fitted.update(_score_type="float16"),
    "no features": lambda f: f.fitted.update(n_features_in_=0),
    "other features": lambda f: f.fitted.update(n_features_in_=5),
    "true features": lambda f: f.fitted.update(n_features_in_=True),
    "shape": lambda f: f.fitted.update(shape_fit_=[34, 4]),
    "array twice": lambda f: f.fitted.update(intercept_=f.fitted["n_support_"]),
    "array not there": lambda f: f.fitted.update(intercept_={"array": 99}),
    "array by truth": lambda f: f.fitted.update(intercept_={"array": True}),
    "array unused": lambda f: f.fitted.update(_coef=None) or f.members.update({"arrays/8.npy": npy(np.zeros(3))}),
    "unknown kind": lambda f: f.fitted.update(rho_={"eval": "1"}),
    "two kinds": lambda f: f.fitted.update(rho_={"float": "inf", "array": 0}),
    "a long float": lambda f: f.fitted.update(rho_={"float": "1"}),
    "nested estimator": lambda f: f.parameters.update(machine=copy.deepcopy(f.document["model"])),
    "unknown estimator": lambda f: f.document["model"]["estimator"].__setitem__(0, "SVC"),
    "estimator list": lambda f: f.document["model"]["estimator"].__setitem__(0, ["JointSVC"]),
    "no estimator": lambda f: f.document.update(model=3),
    "estimator too short": lambda f: f.document["model"]["estimator"].pop(),
    "another format": lambda f: f.document.update(format="other"),
    "version 0": lambda f: f.document.update(version=0),
    "version text": lambda f: f.document.update(version="1"),
    "extra member": lambda f: f.members.update({"evil.py": b"print(1)"}),
    "member outside": lambda f: f.members.update({"../arrays/8.npy": b""}),
    "member gone": lambda f: f.members.pop("arrays/0.npy"),
    "pickled array": lambda f: f.members.update({"arrays/0.npy": npy(np.array([{}, {}]), allow_pickle=True)}),
    "no array": lambda f: f.members.update({"arrays/0.npy": b"nothing"}),
    "empty member": lambda f: f.members.update({"arrays/0.npy": b""}),
    "later array format": lambda f: f.members.update({"arrays/0.npy": npy(np.arange(5), version=(2, 0))}),
    "list for a document": lambda f: setattr(f, "document", [1, 2]),
    "no JSON": lambda f: setattr(f, "document", "{"),
    "NaN in JSON": lambda f: setattr(f, "document", '{"format": "polymargin", "version": NaN}'),
    "no text": lambda f: setattr(f, "document", b"\xff\xfe\x00"),
    "deep": lambda f: setattr(f, "document", "[" * 100_000 + "]" * 100_000),
    "long number": lambda f: setattr(f, "document", '{"format": "polymargin", "version": ' + "1" * 10_000 + "}"),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_changed_files_are_refused(name, mapped, path):
    params = dict(nu=0.2) if name == "sum of alpha" else {}
    crafted = Crafted(JointSVC(**({"machine": "scatter"} | params)).fit(X, y), path)
    if name == "sum of alpha":
        crafted.change("dual_coef_", lambda a: 2 * a)
    else:
        CHANGES[name](crafted)
    crafted.save(path)
    with pytest.raises(ValueError, match="model.pm: expected a (sound )?polymargin model file, got"):
        load_model(path, mmap=mapped)


def test_an_unchanged_repacked_file_is_read(path):
    model = JointSVC("scatter").fit(X, y)
    crafted = Crafted(model, path)
    crafted.save(path)
    assert_same_model(load_model(path), model, X)
    assert_same_model(load_model(path, mmap=True), model, X)


def test_margin_machines_must_sum_to_zero(path):
    crafted = Crafted(JointSVC("crammer-singer").fit(X, y), path)
    crafted.change("dual_coef_", lambda B: B + 0.1)
    crafted.save(path)
    with pytest.raises(ValueError, match="sum to zero"):
        load_model(path)


REDUCTION_CHANGES = {
    "another code": lambda f: f.change("_columns", lambda M: -M),
    "no code": lambda f: f.change("_columns", set_at((0, 0), 5)),
    "a class more": lambda f: f.change("_columns", lambda M: np.vstack([M, M[:1]])),
    "a column less": lambda f: f.change("_columns", lambda M: np.ascontiguousarray(M[:, 1:])),
    "sum": lambda f: f.change("dual_coef_", lambda a: a + 0.1),
    "bias": lambda f: f.change("intercept_", lambda b: b[:-1]),
}


@pytest.mark.parametrize("name", REDUCTION_CHANGES)
def test_changed_reductions_are_refused(name, path):
    crafted = Crafted(OneVsRestSVC().fit(X, y), path)
    REDUCTION_CHANGES[name](crafted)
    crafted.save(path)
    with pytest.raises(ValueError, match="got OneVsRestSVC with"):
        load_model(path)


def test_pairs_are_all_pairs(path):
    crafted = Crafted(PairwiseSVC().fit(X, y), path)
    crafted.change("_columns", lambda pairs: pairs[:, ::-1].copy())
    crafted.save(path)
    with pytest.raises(ValueError, match="a code that is not one of its own"):
        load_model(path)


def test_unsorted_sparse_rows(path):
    crafted = Crafted(JointSVC("scatter").fit(sp.csr_array(X), y), path)
    crafted.change("support_vectors_", lambda j: np.where(j == 0, 1, np.where(j == 1, 0, j)), part=1)
    crafted.save(path)
    with pytest.raises(ValueError, match="unsorted rows"):
        load_model(path)


@pytest.mark.parametrize("T", [2, 3])
@pytest.mark.parametrize("crafted", [dict(temperature_=5e-324), dict(evidence_weight_=1e308), dict(margins_=1e-300)])
def test_probabilities_of_any_numbers_are_probabilities(T, crafted, path):
    model = AutoSVC(C=1.0, gamma=0.3).fit(X[y < T], y[y < T])
    for name, value in crafted.items():
        setattr(model, name, np.full_like(model.margins_, value) if name == "margins_" else value)
    found = load_model(save_model(model, path)).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)


def test_a_newer_format_says_so(path):
    crafted = Crafted(JointSVC("scatter").fit(X, y), path)
    crafted.document["version"] = 2
    crafted.save(path)
    with pytest.raises(ValueError, match="format version 2, .* upgrade"):
        load_model(path)


def test_compressed_members_cannot_unfold(path):
    crafted = Crafted(JointSVC("scatter").fit(X, y), path)
    crafted.members["arrays/0.npy"] = npy(np.zeros(10_000_000))
    crafted.save(path, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        load_model(path)


def test_overlapping_members_cannot_unfold(path):
    """Fifty entries of the list of members that all point to one array."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        for k in range(50):
            archive.writestr(f"arrays/{k}.npy", npy(np.zeros(10_000)) if k == 0 else b"")
        first = archive.getinfo("arrays/0.npy")
        for info in archive.infolist()[2:]:
            info.header_offset, info.CRC = first.header_offset, first.CRC
            info.file_size = info.compress_size = first.file_size
    with pytest.raises(ValueError, match="longer than the file"):
        load_model(path)


@pytest.mark.parametrize("shape", [(10**15,), (2**32, 2**32), (0,), (-1, 7), (5, 10**18)])
def test_a_header_that_lies_about_the_shape(shape, path):
    crafted = Crafted(JointSVC("scatter").fit(X, y), path)
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    crafted.members["arrays/2.npy"] = out.getvalue() + bytes(56)
    crafted.save(path)
    with pytest.raises(ValueError, match="shape"):
        load_model(path)


# --- damaged files ----------------------------------------------------------------------------------------------------

slow_is_fine = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "model.pm"
    model = JointSVC("scatter").fit(X, y)
    save_model(model, path)
    return model, path.read_bytes()


@slow_is_fine
@given(st.binary(max_size=300), st.booleans())
def test_random_bytes(tmp_path, data, mapped):
    path = tmp_path / "random.pm"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="expected a"):
        load_model(path, mmap=mapped)


@slow_is_fine
@given(data=st.data())
def test_cut_files(tmp_path, sound, data):
    path, whole = tmp_path / "cut.pm", sound[1]
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    kept = data.draw(st.sampled_from(["front", "back", "both"]))
    front, back = whole[: first if kept != "back" else 0], whole[last if kept != "front" else len(whole) :]
    path.write_bytes(front + back)
    if len(front) + len(back) < len(whole):
        with pytest.raises(ValueError, match="expected a"):
            load_model(path, mmap=data.draw(st.booleans()))


@slow_is_fine
@given(data=st.data())
def test_changed_bytes_change_nothing_or_are_found(tmp_path, sound, data):
    path, (model, whole) = tmp_path / "changed.pm", sound
    changed = bytearray(whole)
    for at in data.draw(st.lists(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        changed[at] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    try:
        found = load_model(path, mmap=data.draw(st.booleans()))
    except ValueError as error:
        assert "expected a" in str(error)
    else:
        assert_same_model(found, model, X)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["array", "csr", "labels", "scalar", "float", "tuple", "dict", "estimator"]), inner
        )
    ),
    max_leaves=6,
)


@slow_is_fine
@given(data=st.data())
def test_changed_descriptions_are_refused_or_harmless(tmp_path, sound, data):
    """Any value of the description replaced by any other: an error, or a model that still gives finite scores."""
    path = tmp_path / "described.pm"
    path.write_bytes(sound[1])
    document, members = unpack(path)
    places = []

    def walk(node):
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(document)
    node, key = data.draw(st.sampled_from(places))
    node[key] = data.draw(VALUES)
    pack(path, document, members)
    try:
        found = load_model(path)
    except ValueError as error:
        assert "expected a" in str(error)
    else:
        assert np.isfinite(found.decision_function(X)).all()
        assert len(found.predict(X)) == len(X)
