"""The specification of an experiment: what is shipped, what TOML may say, what is refused."""

import json
import re
from pathlib import Path

import pytest

from oneof.experiments import DatasetSpec, Spec

SIZES = {
    "dermatology": (2, 4),
    "ecoli": (2, 4, 6),
    "satimage": (2, 4),
    "usps": (2, 4, 6, 8),
    "mnist": (2, 4, 6, 8),
}


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return path

    return write


def test_the_papers_protocol_is_the_papers():
    spec = Spec.load("paper")
    sets = {d.name: d for d in spec.datasets}
    for name, sizes in SIZES.items():
        assert sets[name].sizes == sizes
        assert sets[name].rounds == (60_000 if name == "mnist" else 10_000)
        assert not sets[name].instead_of
    assert sets["mnist"].part == "train"
    assert {d.instead_of for d in spec.datasets} == {"", "usps", "mnist"}
    assert spec.alphas == tuple(10.0**k for k in range(-4, 7))
    assert (spec.runs, spec.tuning_runs, spec.eta0) == (100, 5, 1.0)
    assert (spec.fit_intercept, spec.standardise) == (False, False)


def test_the_second_protocol_differs_in_the_features_alone():
    one, other = Spec.load("paper").to_dict(), Spec.load("standardised").to_dict()
    differing = {key for key in one if one[key] != other[key]}
    assert differing == {"name", "fit_intercept", "standardise"}
    assert other["fit_intercept"]
    assert other["standardise"]


def test_a_specification_survives_json_and_toml(tmp_path, toml):
    spec = Spec.load("standardised").narrowed(datasets=["ecoli"], alpha=0.5, runs=3)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"spec": spec.to_dict(), "seconds": {}}))
    assert Spec.load(path) == spec
    assert Spec.load(toml('like = "paper"\nruns = 7\n')) == Spec.load("paper").narrowed(runs=7)


def test_data_sets_can_be_replaced_in_toml(toml):
    spec = Spec.load(toml('like = "paper"\n[datasets.letter]\nsizes = [3]\nrounds = 500\n'))
    assert spec.datasets == (DatasetSpec("letter", (3,), 500),)


def test_narrowing_replaces_what_is_named_and_nothing_else():
    spec = Spec.load("paper")
    assert spec.narrowed() == spec
    narrow = spec.narrowed(
        datasets=["usps-resampled", "letter"], sizes=[3], learners=["max-pegasos"], rounds=9, seed=4
    )
    assert narrow.datasets == (
        DatasetSpec("usps-resampled", (3,), 9),
        DatasetSpec("letter", (3,), 9),
    )
    assert (narrow.learners, narrow.seed, narrow.runs) == (("max-pegasos",), 4, spec.runs)
    assert spec.narrowed(alpha=2).alphas == (2.0,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('like = "paper"\nruns = 0\n', "runs must be an integer of at least 1, not 0"),
        ('like = "paper"\nruns = 2.5\n', "runs must be an integer"),
        ('like = "paper"\nseed = -1\n', "seed must be an integer of at least 0"),
        ('like = "paper"\neta0 = 0.0\n', "eta0 must be a finite number above 0"),
        ('like = "paper"\neta0 = inf\n', "eta0 must be a finite number above 0"),
        ('like = "paper"\nalphas = [0.1, -1.0]\n', "each of alphas must be a finite number above"),
        ('like = "paper"\nalphas = [1, 1.0]\n', "alphas holds 1.0 twice"),
        ('like = "paper"\nalphas = []\n', "alphas must be a list with at least one entry"),
        ('like = "paper"\nlearners = ["avg"]\n', "each of learners must be 'avg-perceptron' or"),
        ('like = "paper"\nlearners = "avg-pegasos"\n', "learners must be a list"),
        ('like = "paper"\nfit_intercept = 1\n', "fit_intercept must be True or False"),
        ('like = "paper"\nname = ""\n', "name must not be empty"),
        ('like = "paper"\nname = 3\n', "name must be text"),
        ('like = "nips"\n', "like must be paper or standardised, not 'nips'"),
        ('like = "paper"\nrun = 3\n', "has no key 'run': it knows name, datasets"),
        ('like = "paper"\ndatasets = 3\n', "datasets must hold a table for each"),
        ('like = "paper"\n[datasets]\n', "datasets must be a list with at least one entry"),
        ('like = "paper"\n[datasets.ecoli]\nsizes = [2]\n', "datasets.ecoli needs rounds"),
        (
            'like = "paper"\n[datasets.ecoli]\nsizes = [0]\nrounds = 5\n',
            "each of datasets.ecoli.sizes must be an integer of at least 1",
        ),
        (
            'like = "paper"\n[datasets.ecoli]\nsizes = [2]\nrounds = 5\npart = "tes"\n',
            "datasets.ecoli.part must be 'all' or 'train'",
        ),
        ("runs = 3\n", "the specification needs name and datasets and"),
        ("runs = \n", "Invalid value"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(toml, text, words):
    path = toml(text)
    with pytest.raises(ValueError, match=r"mine\.toml: ") as failure:
        Spec.load(path)
    assert words in str(failure.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no protocol 'nips': choose paper or standardised"):
        Spec.load("nips")
    with pytest.raises(FileNotFoundError):
        Spec.load(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not a text file"):
        Spec.load(tmp_path / "binary.toml")
    for text in ("[1]", "{}", "nonsense", '{"spec": {"runs": 1}}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(ValueError, match="not the manifest of an earlier run"):
            Spec.load(tmp_path / "manifest.json")


def test_a_specification_cannot_be_changed():
    spec = Spec.load("paper")
    with pytest.raises(AttributeError):
        spec.runs = 3


def test_the_specifications_in_the_documentation_are_right(toml):
    page = Path(__file__).parent.parent / "docs" / "reproduction.md"
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    spec = Spec.load(toml(text))
    assert spec.eta0 == 0.1
    assert spec.datasets == (DatasetSpec("letter", (2, 8), 20_000),)
