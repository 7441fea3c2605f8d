"""Model files: what is saved goes on as if never stopped, and nothing else is ever loaded."""

import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hostile
import oneof
from learners import EVERYONE, LEARNERS, Stream, bits, streams
from oneof.persistence import rehearse, replacing
from test_laws import learnt

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def model():
    return oneof.AvgPegasos(alpha=0.1).partial_fit(np.eye(3), [{"a", "b"}, {"b"}, {"c"}])


def loaded(raw, path):
    path.write_bytes(raw)
    return oneof.load(path)


@pytest.mark.parametrize("learner", EVERYONE, ids=lambda learner: learner.name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [False, True])
@settings(max_examples=6)
@given(stream=streams(), data=st.data(), names=st.booleans())
def test_saved_and_continued_is_never_stopped(learner, dtype, average, stream, data, names):
    cut = data.draw(st.integers(1, len(stream.X)))
    X, K = stream.X.astype(dtype), stream.n_classes
    labels = np.array([f"class {k}" for k in range(K)]) if names else np.arange(K) - 3
    sets = [{labels.tolist()[k] for k in Y} for Y in stream.sets]
    whole = Stream(X, sets, K)
    scale = data.draw(st.sampled_from(["none", "standardize"]))
    parameters = {
        "average": average, "scale": scale, "fit_intercept": data.draw(st.booleans())
    }  # fmt: skip
    model = learner.make(**parameters).partial_fit(X[:cut], sets[:cut], classes=labels)
    before = bits(model)
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        oneof.save(model, first)
        copy = oneof.load(first)
        oneof.save(copy, second)
        assert first.read_bytes() == second.read_bytes()
        assert sorted(os.listdir(folder)) == ["first", "second"]
    assert bits(copy) == bits(model) == before
    assert repr(copy) == repr(model)
    assert copy.classes_.dtype == model.classes_.dtype
    assert copy.classes_.tolist() == model.classes_.tolist()
    assert copy.n_iter_ == model.n_iter_
    if cut < len(X):
        copy.partial_fit(X[cut:], sets[cut:])
    never_stopped = learner.make(**parameters).partial_fit(X, sets, classes=labels)
    assert bits(copy) == bits(never_stopped)
    assert len(whole.X) == copy.t_


def test_feature_names_and_truth_values_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = pandas.Index(["größe", "\ud800"], dtype=object)  # Arrow's strings lack half characters
    X = pandas.DataFrame([[1.0, 0.0], [2.0, 1.0]], columns=names)
    model = oneof.MaxPerceptron(random_state=np.int64(7)).fit(X, [True, False])
    oneof.save(model, tmp_path / "m")
    copy = oneof.load(tmp_path / "m")
    assert copy.feature_names_in_.tolist() == ["größe", "\ud800"]
    assert copy.predict(X).tolist() == model.predict(X).tolist()
    assert copy.classes_.dtype == bool
    assert copy.random_state == 7
    np.testing.assert_array_equal(copy.fit(X, [True, False]).coef_, model.coef_)


def test_files_are_plain_safetensors(model, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    oneof.save(model, tmp_path / "m")
    arrays = safetensors.load_file(tmp_path / "m")
    np.testing.assert_array_equal(arrays["weights"], model.model_.state()["weights"])


def test_what_cannot_be_kept_is_refused(model, tmp_path):
    path = tmp_path / "m"
    for odd, sentence in [
        (make_pipeline(StandardScaler(), model), "Pipeline is not one of oneof's learners"),
        (oneof.AvgPegasos(random_state=np.random.RandomState(0)), "is not fitted yet"),
        (pickle.loads(pickle.dumps(model)).set_params(average=True), "average was False when"),
        (pickle.loads(pickle.dumps(model)).set_params(alpha=-1.0), "alpha must be a finite"),
        (
            pickle.loads(pickle.dumps(model)).set_params(random_state=np.random.RandomState(0)),
            "random_state is a RandomState, which a model file cannot keep",
        ),
    ]:
        with pytest.raises((ValueError, NotFittedError), match=sentence):
            oneof.save(odd, path)
    model.model_._weights[0, 0] = np.nan
    with pytest.raises(ValueError, match="the model's weights are not finite"):
        oneof.save(model, path)
    assert os.listdir(tmp_path) == []


def test_every_changed_byte_and_every_cut_is_noticed(tmp_path):
    path = tmp_path / "m"
    for raw in hostile.small_files():
        for at in range(len(raw)):
            spoilt = bytearray(raw)
            spoilt[at] ^= 1 << at % 8
            for changed in (bytes(spoilt), raw[:at]):
                with pytest.raises(ValueError, match=f"^{path}: "):
                    loaded(changed, path)
        with pytest.raises(ValueError, match="bytes too many at its end"):
            loaded(raw + b"x", path)
        loaded(raw, path)


@settings(max_examples=400)
@given(seed=st.integers(0, 2**32 - 1), which=st.integers(0, 3), is_hashed=st.booleans())
def test_a_hostile_file_is_refused_or_holds_a_sound_model(seed, which, is_hashed):
    rng = np.random.default_rng(seed)
    change = hostile.with_fields_changed if is_hashed else hostile.with_bytes_changed
    with tempfile.TemporaryDirectory() as folder:
        is_refused = hostile.is_refused(
            change(hostile.small_files()[which], rng), Path(folder, "m")
        )
    assert is_refused or is_hashed


def spoilt(which=1, **changes):
    """A small file with changed fields and a right checksum."""
    table, header, tail = hostile.taken_apart(hostile.small_files()[which])
    for name, value in changes.items():
        if name == "format":
            table["__metadata__"]["oneof"] = value
        elif name in header["numbers"]:
            header["numbers"][name] = value
        elif name in header["parameters"]:
            header["parameters"][name] = value
        elif name in table:
            table[name].update(value)
        else:
            header[name.rstrip("_")] = value
    return hostile.put_together(table, header, tail)


def spoilt_team(member=None, **changes):
    """The file of a team with changed fields, or with changed fields of its first member."""
    table, header, tail = hostile.taken_apart(spoilt(3, **changes))
    header["members"][0].update(member or {})
    return hostile.put_together(table, header, tail)


MAX_PEGASOS = {"learner": "max-pegasos", "parameters": {"scale": "standardize"}}


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "this is no oneof model file"),
        (b"\x80\x04\x95 this is a pickle, or so", "this is no oneof model file"),
        (struct.pack("<Q", 2) + b"{}", "this is no oneof model file"),
        (struct.pack("<Q", 1 << 60) + b"{}", "this is no oneof model file"),
        (hostile.small_files()[0][:-5], "the file is truncated: 5 bytes are missing"),
        (hostile.small_files()[0][:300], "the file is truncated: 300 bytes, and its header alone"),
        (spoilt(learner="perceptron-2000"), "its learner 'perceptron-2000' is unknown to oneof"),
        (spoilt(alpha=0), "its parameters are not valid: alpha must be"),
        (spoilt(alpha="0.1"), "its parameters are not valid: alpha must be"),
        (spoilt(alpha=[1]), "its field 'parameters' holds more than plain values"),
        (spoilt(reading={"hash_bits": [1]}), "its field 'reading' holds more than plain values"),
        (spoilt(average=False), "its contents are not those of max-pegasos"),
        (spoilt(dtype="float64"), "its array 'sums' is not float64"),
        (spoilt(dtype="object"), "its dtype 'object' is neither"),
        (spoilt(extra=1), r"its fields are not those of a model file \(extra\)"),
        (spoilt(n_features=2), r"its array 'sums' has not the shape \(3, 3\)"),
        (spoilt(n_features=2.0), "its field 'n_features' is no int"),
        (spoilt(n_iter=-1), "its field 'n_iter' is negative"),
        (spoilt(classes_="str"), "its classes are not there"),
        (spoilt(feature_names=True), "its feature_names are not there"),
        (spoilt(t=-1), "its number 't' is not valid"),
        (spoilt(t=3), "its numbers contradict each other"),
        (spoilt(scale=0.0), "its numbers contradict each other"),
        (spoilt(scale=2.0**-61), "its numbers contradict each other"),
        (spoilt(sums_share=31.0), "its numbers contradict each other"),
        (spoilt(scale=10**400), "its number 'scale' is not valid"),
        (spoilt(scale=1), "its number 'scale' is not valid"),
        (spoilt(weights={"shape": [4, 2**39]}), "the size of its array 'weights' is not that"),
        (spoilt(weights={"shape": [12]}), r"its array 'weights' has not the shape \(4, 3\)"),
        (spoilt(weights={"dtype": "F16"}), "its array 'weights' has a type that model files"),
        (spoilt(weights={"data_offsets": [0, 48]}), "does not begin where the one before ends"),
        (spoilt(weights={"more": 1}), "is not described as safetensors has it"),
        (spoilt(format="2"), r"its fields are not those of a model file \(members\)"),
        (spoilt(format="2", members=[]), "max-pegasos is not kept in format 2"),
        (spoilt(3, format="1"), r"its fields are not those of a model file \(members\)"),
        (spoilt(3, learner="team-2000"), "its learner 'team-2000' is unknown to oneof"),
        (spoilt(3, rate=0), "its parameters are not valid: rate must be"),
        (spoilt(3, members=[]), "it has 0 members"),
        (spoilt(3, members=[{}] * 1001), "it has 1001 members"),
        (spoilt(3, members=[3]), "one of its members is no JSON object"),
        (spoilt(3, members=[MAX_PEGASOS]), "its contents are not those of hedge"),
        (spoilt(3, members=[MAX_PEGASOS] * 2), "its contents are not those of hedge"),
        (spoilt(3, members={}), "its field 'members' is no list"),
        (spoilt(3, parameters={"members": "own"}), "its parameters are not those of hedge"),
        (
            spoilt_team({"learner": "hedge", "parameters": {}}),
            "not valid: members must be learners",
        ),
        (spoilt_team({"learner": "new"}), "its learner 'new' is unknown to oneof"),
        (spoilt_team({"more": 1}), r"its fields are not those of a model file \(more\)"),
        (spoilt_team({"parameters": {"alpha": -1}}), "not valid: alpha must be"),
        (spoilt_team({"parameters": {"eta0": 1.0}}), "its parameters are not those of max-pegasos"),
        (spoilt_team({"parameters": {"alpha": {}}}), "'parameters' holds more than plain values"),
        (spoilt_team({"parameters": {}}), "its contents are not those of hedge"),
        (spoilt_team(**{"1.t": 31}), "its numbers contradict each other"),
        (spoilt_team(**{"1.n_updates": 31}), "its numbers contradict each other"),
        (spoilt_team(**{"0.scale": 2.0}), "its numbers contradict each other"),
        (spoilt_team(n_mistakes=31), "its numbers contradict each other"),
        (spoilt_team(n_mistakes=1.0), "its number 'n_mistakes' is not valid"),
        (spoilt_team(**{"1.sums": {"shape": [4, 3]}}), r"'1.sums' has not the shape \(3, 4\)"),
        (spoilt_team(moments={"shape": [1, 6]}), r"'moments' has not the shape \(1, 3\)"),
    ],
)
def test_the_sentence_names_what_is_wrong(raw, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        loaded(raw, tmp_path / "m")


def test_a_newer_file_says_so(tmp_path):
    table, header, tail = hostile.taken_apart(hostile.small_files()[0])
    table["__metadata__"]["oneof"] = "3"
    with pytest.raises(ValueError, match="a newer oneof wrote this file, in format 3; this one"):
        loaded(hostile.put_together(table, header, tail), tmp_path / "m")


def test_old_readers_are_told_by_the_version_that_a_team_is_newer(tmp_path):
    """What they read is written as they know it."""
    versions = []
    for raw in hostile.small_files():
        (tmp_path / "m").write_bytes(raw)
        oneof.save(oneof.load(tmp_path / "m"), tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == raw
        versions.append(hostile.taken_apart(raw)[0]["__metadata__"]["oneof"])
    assert versions == ["1", "1", "1", "2"]


def test_members_are_kept_by_name_and_parameters(tmp_path):
    X, sets = np.eye(3), [{"a", "b"}, {"b"}, {"c"}]
    default = oneof.Hedge(scale="standardize", max_iter=2, random_state=1).fit(X, sets)
    own = hostile.team().fit(X, sets)
    for model in (default, own):
        oneof.save(model, tmp_path / "m")
        copy = oneof.load(tmp_path / "m")
        assert repr(copy) == repr(model)
        assert [repr(m) for m in copy.estimators()] == [repr(m) for m in model.estimators()]
        assert repr(copy.best_member_) == repr(model.best_member_)
        assert bits(copy.partial_fit(X, sets)) == bits(model.partial_fit(X, sets))
    assert oneof.load(tmp_path / "m").members[0].alpha == 0.1


def test_a_team_goes_on_with_its_members_when_the_default_ones_are_others(tmp_path, monkeypatch):
    X, sets = np.eye(3), [{"a", "b"}, {"b"}, {"c"}]
    model = oneof.Hedge(fit_intercept=False).fit(X, sets)
    oneof.save(model, tmp_path / "m")
    before = [repr(m) for m in model.estimators()]
    monkeypatch.setattr("oneof.hedge.portfolio", lambda scale: [oneof.AvgPerceptron(scale=scale)])
    copy = oneof.load(tmp_path / "m")
    assert [repr(m) for m in copy.members] == before
    assert bits(copy.partial_fit(X, sets)) == bits(copy)
    assert copy.t_ == 6


def test_what_a_team_cannot_keep_is_refused(tmp_path):
    class Own(oneof.AvgPerceptron):
        pass

    X, sets = np.eye(2), [{"a"}, {"b"}]
    random = oneof.AvgPerceptron(random_state=np.random.RandomState(0))
    for member, sentence in [
        (Own(), r"members\[1\]: Own is not one of oneof's learners"),
        (random, r"members\[1\]: random_state is a RandomState, which a model file cannot keep"),
    ]:
        model = oneof.Hedge([oneof.MaxPegasos(), member]).partial_fit(X, sets)
        with pytest.raises(ValueError, match=sentence):
            oneof.save(model, tmp_path / "m")
    model.set_params(members=[oneof.MaxPegasos()])
    with pytest.raises(ValueError, match="are not those that this model began with"):
        oneof.save(model, tmp_path / "m")
    with pytest.raises(ValueError, match="at most 1000 learners, not 1001"):
        oneof.Hedge([oneof.MaxPegasos()] * 1001).partial_fit(X, sets)
    assert os.listdir(tmp_path) == []


def test_numbers_that_are_no_weights_are_refused(tmp_path):
    table, header, tail = hostile.taken_apart(hostile.small_files()[1])
    start, _ = table["weights"]["data_offsets"]
    tail = tail[:start] + struct.pack("<f", np.inf) + tail[start + 4 :]
    with pytest.raises(ValueError, match="the model's weights are not finite"):
        loaded(hostile.put_together(table, header, tail), tmp_path / "m")


def test_a_negative_spread_is_refused(tmp_path):
    table, header, tail = hostile.taken_apart(hostile.small_files()[3])
    start, _ = table["moments"]["data_offsets"]
    tail = tail[:start] + struct.pack("<d", -1.0) + tail[start + 8 :]
    with pytest.raises(ValueError, match="a feature varies less than not at all"):
        loaded(hostile.put_together(table, header, tail), tmp_path / "m")


@pytest.mark.parametrize(
    "raw",
    [
        spoilt(weights={"shape": [2**30, 3], "data_offsets": [24, 24 + 2**30 * 12]}),
        spoilt(n_features=2**39),
        spoilt(3, n_features=2**39),
        spoilt(3, members=[MAX_PEGASOS] * 40_000),
        # Many labels, no features, and a thousand members without a number of their own.
        hostile.without_features(n_classes=100_000, n_members=1000),
        struct.pack("<Q", 4 << 20) + b'{"a":' + b"[" * ((4 << 20) - 5),
        struct.pack("<Q", 1 << 20) + b'{"a":[' + b"{}," * ((1 << 20) // 3),
        hostile.put_together(
            {"__metadata__": {"oneof": "1"}, "classes": {}}, {"n_features": 2**60}, b""
        ),
    ],
)
def test_a_small_file_takes_little_memory(raw, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(raw)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"damaged|begin|shape|size|described"):
        oneof.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


def test_a_string_far_longer_than_the_others_takes_little_memory(tmp_path):
    labels = ["x" * 200_000, *map(str, range(999))]
    model = oneof.AvgPerceptron(fit_intercept=False).partial_fit([[1.0]], [{0}], range(1000))
    model.classes_ = np.array(labels, dtype=object)
    with pytest.raises(ValueError, match="one of the classes is far longer than the others"):
        oneof.save(model, tmp_path / "m")


@pytest.mark.parametrize("version", [1, 2])
def test_the_golden_files_of_each_format_still_load(version):
    """Files written by the first release of each format; never write them anew."""
    expected = json.loads((GOLDEN / f"format-{version}.json").read_text())
    for name, fields in expected.items():
        model = oneof.load(GOLDEN / name)
        assert repr(model) == fields["learner"]
        assert model.classes_.tolist() == fields["classes"]
        assert (model.t_, model.n_updates_, model.n_mistakes_) == tuple(fields["counters"])
        assert getattr(model, "feature_names_in_", np.array(None)).tolist() == fields["names"]
        if version == 1:
            assert model.coef_.astype(float).tolist() == fields["coef"]
            assert model.intercept_.astype(float).tolist() == fields["intercept"]
            continue
        assert model.member_mistakes_.tolist() == fields["member_mistakes"]
        parts = [model.model_.member(i).weights() for i in range(len(model.weights_))]
        assert [coef.astype(float).tolist() for coef, _ in parts] == fields["coefs"]
        assert [b.astype(float).tolist() for _, b in parts] == fields["intercepts"]


def test_a_failing_write_leaves_the_old_file(model, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(TypeError), replacing(path) as file:
        file.write(b"half of it" * 10_000 + "no bytes")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]
    oneof.save(model, path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert oneof.load(path).t_ == 3


def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path):
    """As on a full disk: the limit strikes in the middle of the write."""
    path = tmp_path / "m"
    path.write_bytes(b"old")
    program = """
import numpy as np, oneof, resource, sys
model = oneof.AvgPerceptron().partial_fit(np.ones((1, 20_000)), [{0}], classes=range(4))
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    oneof.save(model, sys.argv[1])
except OSError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"[Errno 27] File too large: '{path}'\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


def test_a_full_device_and_missing_folders_say_so(model, tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        oneof.save(model, "/dev/full")
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*missing/m'"):
        oneof.save(model, tmp_path / "missing" / "m")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        oneof.save(model, tmp_path)
    with pytest.raises(ValueError, match="this is no regular file"):
        oneof.load("/dev/null")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        oneof.load(tmp_path / "nowhere")


def test_a_link_keeps_pointing_and_leftovers_of_the_dead_go(model, tmp_path):
    (tmp_path / "link").symlink_to("real")
    (tmp_path / ".real.999999999.partial").write_bytes(b"killed")
    (tmp_path / f".real.{os.getppid()}.partial").write_bytes(b"alive")
    oneof.save(model, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == [f".real.{os.getppid()}.partial", "link", "real"]


def test_learnt_models_of_the_tables_can_be_told_apart():
    """The law above would hold for files that keep nothing if all learners were equal."""
    stream = Stream(np.eye(4), [{0, 1}, {1}, {2}, {0}], 3)
    kinds = {pickle.dumps(bits(learnt(learner, stream))) for learner in LEARNERS}
    assert len(kinds) > 3


def test_a_rehearsal_writes_nothing_and_fails_early(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "new"):
        rehearse(tmp_path / name)
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    with pytest.raises(FileNotFoundError, match="missing/m"):
        rehearse(tmp_path / "missing" / "m")
    with pytest.raises(IsADirectoryError):
        rehearse(tmp_path)
