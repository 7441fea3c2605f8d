"""Spoilt model files: bytes changed at random, or fields changed and the checksum made right."""

import copy
import hashlib
import io
import json
import struct

import numpy as np

import oneof
from oneof.persistence import layout

ODD_VALUES = [
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**53, 2**62, 2**63, 2**64, 10**300, 0.5, -0.0,
    1e308, -1e-320, "", "0", "float32", "float64", "int", "str", "bool", "avg-pegasos",
    "max-perceptron", "hedge", "I64", "F32", "U8", "\ud800", "x" * 5000, [], [0], [0, 0],
    [1, 2**40], [2**33, 2**30], [[]], {}, {"a": 1}, {"": {}},
]  # fmt: skip
WORDS = [
    b"null", b"NaN", b"Infinity", b"1e999", b"-1", b"[" * 3000, b"{", b"}", b'"', b"\\u0000",
    b"\xff", b"9" * 5000, b"0", b"\x00" * 8, b"\xff" * 8,
]  # fmt: skip


def small_files():
    """A few model files of every kind of content."""
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(30, 3)), [{"a", "b"}, {"c", "a"}, {"é", "b"}] * 10
    numbered = [{0, 2}, {1}, {2, 1}] * 10
    models = [
        oneof.AvgPerceptron(eta0=0.5).partial_fit(X, sets),
        oneof.MaxPegasos(alpha=0.1, average=True).partial_fit(X.astype(np.float32), numbered),
        oneof.AvgPegasos(fit_intercept=False, random_state=3).partial_fit(X, [True, False] * 15),
        team().partial_fit(X, sets),
    ]
    models[1].reading_ = {"hash_bits": 2}
    models[0].feature_names_in_ = np.array(["x", "größe", "z"], dtype=object)
    return [as_bytes(model) for model in models]


def team():
    """Two members, of which one scales and one averages."""
    members = [
        oneof.MaxPegasos(alpha=0.1, scale="standardize"),
        oneof.AvgPerceptron(fit_intercept=False, average=True),
    ]
    return oneof.Hedge(members, rate=0.2)


def as_bytes(model):
    header, arrays = oneof.persistence.models._described(model)
    file = io.BytesIO()
    layout.write(file, oneof.persistence.models._version_of(model), {"model": header}, arrays)
    return file.getvalue()


def taken_apart(raw):
    """The table, the model's header and the tensors' bytes."""
    (length,) = struct.unpack_from("<Q", raw)
    table = json.loads(raw[8 : 8 + length])
    return table, json.loads(table["__metadata__"]["model"]), raw[8 + length :]


def put_together(table, header, tail):
    """A file with a right checksum."""
    metadata = {**table["__metadata__"], "sha256": "0" * 64}
    if header is not None:
        metadata["model"] = json.dumps(header)
    text = json.dumps({**table, "__metadata__": metadata}).encode()
    raw = struct.pack("<Q", len(text)) + text + tail
    return raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode(), 1)


def without_features(n_classes, n_members):
    """A team whose arrays claim many classes and no feature, so that they take no bytes.

    Its members do not agree on the round.
    """
    members = [oneof.AvgPerceptron(fit_intercept=False)] * n_members
    model = oneof.Hedge(members, fit_intercept=False).begin(["a", "b"], 1)
    table, header, _ = taken_apart(as_bytes(model))
    labels = np.arange(n_classes)
    for name in set(table) - {"__metadata__"}:
        table[name] |= {"shape": [0, n_classes], "data_offsets": [labels.nbytes] * 2}
    del table["classes.text"], table["classes.ends"]
    table["classes"] = {
        "dtype": "I64", "shape": [n_classes], "data_offsets": [0, labels.nbytes]
    }  # fmt: skip
    header |= {"classes": "int", "n_features": 0}
    header["numbers"][f"{n_members - 1}.t"] = 1  # is seen last
    return put_together(table, header, labels.tobytes())


def with_bytes_changed(raw, rng):
    """Flip, insert, remove, repeat or cut bytes; the checksum is left as it was."""
    before, raw = raw, bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at, n = int(rng.integers(0, len(raw) + 1)), int(rng.integers(1, 20))
        match rng.integers(0, 6):
            case 0 if at < len(raw):
                raw[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                raw[at:at] = rng.bytes(n)
            case 2:
                del raw[at : at + n]
            case 3:
                raw[at:at] = raw[at : at + 50]
            case 4:
                del raw[at:]
            case _:
                raw[at : at + n] = WORDS[rng.integers(0, len(WORDS))]
    return bytes(raw) if raw != before else with_bytes_changed(before, rng)


def with_fields_changed(raw, rng):
    """Change, remove or rename values of the header, or numbers of the arrays; hash it again."""
    table, header, tail = taken_apart(raw)
    for _ in range(rng.integers(1, 3)):
        root = header if rng.random() < 0.6 else table
        if rng.random() < 0.15 and tail:
            at = 4 * int(rng.integers(0, len(tail) // 4))
            tail = tail[:at] + rng.bytes(4) + tail[at + 4 :]
            continue
        _change(root, rng)
    return put_together(table, header, tail)


def _change(node, rng):
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    keys = [key for key in keys if key != "__metadata__"]
    if not keys:
        return
    key = keys[rng.integers(0, len(keys))]
    if isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
        _change(node[key], rng)
        return
    value = copy.deepcopy(ODD_VALUES[rng.integers(0, len(ODD_VALUES))])
    if isinstance(node, list) or rng.random() < 0.7:
        node[key] = value
    elif rng.random() < 0.5:
        del node[key]
    else:
        node[str(value)] = node.pop(key)


def is_refused(raw, path):
    """Load a spoilt file; whether it was refused in one sentence. If not, it must be sound."""
    path.write_bytes(raw)
    refusal = _refusal(oneof.load, path)
    if refusal:
        assert refusal.startswith(f"{path}: ")
        assert "\n" not in refusal
        return True
    model = oneof.load(path)
    if isinstance(model, oneof.Hedge):
        assert abs(model.weights_.sum() - 1) < 1e-9
        assert model.best_member_.t_ == model.t_ >= model.n_mistakes_
    X = np.ones((2, model.n_features_in_), dtype=model.model_.dtype)
    oneof.save(model, path)
    vars(model).pop("feature_names_in_", None)  # X has none
    refusal = _refusal(lambda: model.partial_fit(X, model.classes_[:1].repeat(2)).predict(X))
    assert "overflow" in refusal or "0 feature(s)" in refusal or not refusal
    return False


def _refusal(action, *arguments):
    try:
        action(*arguments)
    except ValueError as error:
        return str(error)
    return ""
