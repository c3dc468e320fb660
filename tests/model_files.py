"""Model files taken apart and put together, and what it means that a model comes back."""

import io
import json
import zipfile

import numpy as np
from numpy.testing import assert_array_equal

from polymargin import save_model


def assert_same_model(a, b, Z):
    assert type(a) is type(b) and repr(a) == repr(b)
    assert_array_equal(a.decision_function(Z), b.decision_function(Z))
    assert_array_equal(a.predict(Z), b.predict(Z))
    assert a.predict(Z).dtype == b.predict(Z).dtype


def unpack(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members.pop("model.json"))
    return document, members


def pack(path, document, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("model.json", document if isinstance(document, str | bytes) else json.dumps(document))
        for name, data in members.items():
            archive.writestr(name, data)


def npy(array, **how):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), **how)
    return out.getvalue()


class Crafted:
    """A model file taken apart: `array(name)` and `set(name, array)` reach the arrays behind the fitted attributes."""

    def __init__(self, model, path):
        self.document, self.members = unpack(save_model(model, path))
        self.name, self.parameters, self.fitted = self.document["model"]["estimator"]

    def member(self, attribute):
        value = self.fitted[attribute]
        return f"arrays/{value['array'] if 'array' in value else value['csr'][self.part]['array']}.npy"

    def change(self, attribute, how, part=0):
        self.part = part
        name = self.member(attribute)
        self.members[name] = npy(how(np.load(io.BytesIO(self.members[name]))))

    def save(self, path, **how):
        pack(path, self.document, self.members, **how)


def set_at(at, value):
    def change(array):
        array[at] = value
        return array

    return change
