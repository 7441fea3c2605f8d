"""The commands as a user meets them: results, wrong usage, bad input, full disks."""

import gzip
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import oneof
from commands import ran, run, write_rows
from learners import bits
from oneof.catalogue import LEARNERS
from oneof.readers import open_source


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", n=300)


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.oneof"
    assert run("train", rows, "-q", "-o", path) == 0
    return path


@pytest.fixture(scope="module")
def team(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("team") / "t.oneof"
    assert run("train", rows, "--model", "hedge", "--rate", "0.3", "-q", "-o", path) == 0
    return path


@pytest.fixture(params=["model", "team"])
def any_model(request):
    return request.getfixturevalue(request.param)


def expected(rows, model):
    estimator = oneof.load(model)
    batch = next(iter(open_source(rows, classes=estimator.classes_)))
    return estimator, batch


def test_predictions_are_those_of_the_model(rows, any_model, tmp_path, capfd):
    estimator, batch = expected(rows, any_model)
    labels, scores = estimator.predict(batch.X), estimator.decision_function(batch.X)
    assert run("predict", rows, "-m", any_model) == 0
    assert capfd.readouterr().out.splitlines() == ["prediction", *labels]
    assert run("predict", rows, "-m", any_model, "--top", 2, "-o", tmp_path / "p.jsonl") == 0
    for line, row in zip((tmp_path / "p.jsonl").read_text().splitlines(), scores, strict=True):
        best = np.argsort(-row, kind="stable")
        assert json.loads(line) == {
            "prediction": estimator.classes_[best[0]],
            "score": pytest.approx(row[best[0]], rel=1e-6),
            "prediction_2": estimator.classes_[best[1]],
            "score_2": pytest.approx(row[best[1]], rel=1e-6),
        }
    assert run("predict", rows, "-m", any_model, "--scores", "-o", tmp_path / "p.csv") == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0] == "prediction,score:cat,score:dog,score:fox,score:élan"
    for line, label, row in zip(lines[1:], labels, scores, strict=True):
        assert line.split(",")[0] == label
        np.testing.assert_array_equal(np.array(line.split(",")[1:], dtype=np.float32), row)


def test_predictions_as_parquet(rows, any_model, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    estimator, batch = expected(rows, any_model)
    assert run("predict", rows, "-m", any_model, "--scores", "-o", tmp_path / "p.parquet") == 0
    table = parquet.read_table(tmp_path / "p.parquet")
    assert table["prediction"].to_pylist() == estimator.predict(batch.X).tolist()
    scores = np.column_stack([table[f"score:{c}"] for c in estimator.classes_])
    np.testing.assert_array_equal(scores, estimator.decision_function(batch.X))


def test_unlabelled_rows_with_new_features_are_predicted(any_model, tmp_path, capfd):
    (tmp_path / "new.svm").write_text("0:1 5:2\n 1:1 999:1e9\n\nunheard_of 2:1\n")
    (tmp_path / "known.svm").write_text("0:1 5:2\n 1:1\n2:1\n")
    outputs = []
    for name in ("new.svm", "known.svm"):
        assert run("predict", tmp_path / name, "-m", any_model) == 0
        outputs.append(capfd.readouterr().out)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 4


def test_evaluation_counts_what_the_estimator_predicts(rows, any_model, capfd):
    estimator, batch = expected(rows, any_model)
    assert run("evaluate", rows, "-m", any_model, "--json") == 0
    report = json.loads(capfd.readouterr().out)
    predicted, truth = estimator.predict(batch.X), estimator.classes_[batch.truth]
    assert report["mistakes"] == pytest.approx(1 - estimator.score(batch.X, batch.candidates))
    assert report["error"] == pytest.approx(np.mean(predicted != truth))
    assert report["coverage"] == 1
    assert (report["rows"], report["known"], report["full"]) == (300, 300, 0)
    for i, a in enumerate(estimator.classes_):
        for j, b in enumerate(estimator.classes_):
            assert report["confusion"][i][j] == np.sum((truth == a) & (predicted == b))
        line = report["classes"][i]
        assert line["recall"] == pytest.approx(np.mean(predicted[truth == a] == a))
        assert line["precision"] == pytest.approx(np.mean(truth[predicted == a] == a))
    assert run("evaluate", rows, "-m", any_model) == 0
    text = capfd.readouterr().out
    assert f"mistakes            {report['mistakes']:.2%}" in text
    assert "truth down, prediction across" in text


def test_evaluation_without_truth_says_so_and_exact_labels_are_truth(any_model, tmp_path, capfd):
    hidden = write_rows(tmp_path / "hidden.svm", n=50, with_truth=False)
    assert run("evaluate", hidden, "-m", any_model) == 0
    assert "error               - (the truth is not given)" in capfd.readouterr().out
    (tmp_path / "exact.svm").write_text("cat 0:1\ndog 1:1\n")
    assert run("evaluate", tmp_path / "exact.svm", "-m", any_model, "--json") == 0
    report = json.loads(capfd.readouterr().out)
    assert report["error"] == report["mistakes"]


def test_inspection_names_learner_counters_and_heavy_features(model, tmp_path, capfd):
    estimator = oneof.load(model)
    assert run("inspect", model, "--json", "--top", 3) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["learner"] == "avg-perceptron"
    assert (found["classes"], found["rounds"]) == (estimator.classes_.tolist(), 300)
    for heaviest, weights in zip(found["heaviest"], estimator.coef_, strict=True):
        order = np.argsort(-np.abs(weights), kind="stable")[:3]
        assert heaviest == [[int(j), pytest.approx(float(weights[j]))] for j in order]
    assert run("inspect", model) == 0
    assert "checksum     holds" in capfd.readouterr().out
    spoilt = tmp_path / "spoilt"
    spoilt.write_bytes(model.read_bytes()[:-1] + b"\xff")
    assert run("inspect", spoilt) == 2
    assert f"oneof: {spoilt}: its checksum does not hold" in capfd.readouterr().err


def test_inspection_tells_what_each_member_has_earned(team, capfd):
    estimator = oneof.load(team)
    assert run("inspect", team, "--json", "--top", 2) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["learner"], found["parameters"]["rate"]) == ("hedge", 0.3)
    assert [m["mistakes"] for m in found["members"]] == estimator.member_mistakes_.tolist()
    assert [m["weight"] for m in found["members"]] == estimator.weights_.tolist()
    for told, member in zip(found["members"], estimator.estimators(), strict=True):
        assert repr(LEARNERS[told["learner"]](**told["parameters"])) == repr(member)
    for heaviest, weights in zip(found["heaviest"], estimator.best_member_.coef_, strict=True):
        assert heaviest[0][1] == pytest.approx(weights[np.abs(weights).argmax()])
    assert run("inspect", team) == 0
    lines = capfd.readouterr().out.splitlines()
    assert f"mistakes     {estimator.n_mistakes_} ({estimator.n_mistakes_ / 300:.2%})" in lines
    at = lines.index("    weight   mistakes  member")
    first = [f"{estimator.weights_[0]:.2%}", str(estimator.member_mistakes_[0])]
    assert lines[at + 1].split() == [*first, "candidate-logistic", "eta0=1.0"]
    assert "heaviest features of the best member (weight)" in lines


def test_a_team_of_named_members_takes_their_options(rows, tmp_path, capfd):
    names = ["train", rows, "--model", "hedge", "--members", "avg-perceptron,soft-pegasos"]
    options = ["--scale", "standardize", "--average", "--no-intercept", "--rate", "0.5"]
    ckpt = ["--checkpoint", tmp_path / "ckpt", "--resume"]
    assert run(*names, *options, *ckpt, "-q", "-o", tmp_path / "m") == 0
    shared = {"scale": "standardize", "average": True, "fit_intercept": False}
    by_hand = oneof.Hedge(
        [oneof.AvgPerceptron(**shared), oneof.SoftPegasos(**shared)],
        rate=0.5, scale="standardize", fit_intercept=False,
    )  # fmt: skip
    for batch in open_source(rows):
        by_hand.partial_fit(batch.X, batch.candidates)
    team = oneof.load(tmp_path / "m")
    assert repr(team) == repr(by_hand)
    assert bits(team) == bits(by_hand)
    other = [*names[:-1], "avg-perceptron,avg-pegasos"]
    assert run(*other, *options, *ckpt, "-q") == 2
    assert "the checkpoint does not fit: members was [AvgPerceptron(" in capfd.readouterr().err
    assert run(*names, *options, *ckpt, "-q", "-o", tmp_path / "again") == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_team_begun_in_python_goes_on_from_the_command_line(rows, tmp_path):
    members = [oneof.AvgPerceptron(eta0=0.3), oneof.CandidateLogistic(scale="standardize")]
    source = open_source(rows)
    begun = oneof.Hedge(members).begin(source.classes, 1, np.float32)
    oneof.save(begun, tmp_path / "begun")
    assert run("train", rows, "--init", tmp_path / "begun", "-q", "-o", tmp_path / "m") == 0
    by_hand = oneof.Hedge(members)
    for batch in source:
        by_hand.partial_fit(batch.X, batch.candidates)
    assert bits(oneof.load(tmp_path / "m")) == bits(by_hand)


def test_the_table_counts_updates_of_a_member_on_average(team, rows, tmp_path):
    log = tmp_path / "log"
    assert run("train", rows, "--model", "hedge", "--rate", "0.3", "-q", "--log", log) == 0
    last, model = json.loads(log.read_text().splitlines()[-1]), oneof.load(team).model_
    assert last["n_mistakes"] == model.n_mistakes
    updates = [one.n_updates for one in model.models]
    assert min(updates) <= last["n_updates"] == sum(updates) // 8 <= max(updates) <= 300


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "ROWS", "-m", "hedge", "--average"], "hedge has no --average: leave it out"),
        (["train", "ROWS", "-m", "hedge", "--rate", "0"], "rate must be a finite number above 0"),
        (["train", "ROWS", "-m", "hedge", "--members", "x"], "--members 'x' is unknown: choose"),
        (["train", "ROWS", "-m", "hedge", "--members", ""], "--members '' is unknown: choose"),
        (["train", "ROWS", "-m", "hedge", "--members", "hedge"], "--members 'hedge' is unknown"),
        (["train", "ROWS", "--members", "max-pegasos"], "avg-perceptron has no --members"),
        (["train", "ROWS", "--init", "TEAM", "--rate", "1"], "the members, or the rate, are not"),
        (["train", "ROWS", "--modle", "avg-pegasos"], "No such option: --modle"),
        (["train", "ROWS", "--model", "avg-pegasus"], "did you mean avg-pegasos?"),
        (["train", "ROWS", "--alpha", "1"], "avg-perceptron has no --alpha: leave it out"),
        (["train", "ROWS", "-m", "avg-pegasos", "--alpha", "-1"], "alpha must be a finite number"),
        (["train", "ROWS", "--update", "never"], "update must be 'margin' or 'mistake'"),
        (["train", "ROWS", "--passes", "0"], "Invalid value for '--passes'"),
        (["train", "ROWS", "--dtype", "float16"], "dtype must be float32 or float64"),
        (["train", "ROWS", "--classes", "cat,dog"], "rows.svm:"),
        (["train", "ROWS", "--init", "ROWS"], "this is no oneof model file"),
        (["train", "ROWS", "--init", "MODEL", "--average"], "average was False when this model"),
        (["train", "ROWS", "-o", "/dev/full"], "/dev/full: No space left on device"),
        (["train", "ROWS", "-o", "nowhere/m.oneof"], "nowhere/m.oneof: No such file or directory"),
        (["train", "ROWS", "-o", "."], ": Is a directory"),
        (["train", "ROWS", "--log", "nowhere/log"], "nowhere/log: No such file or directory"),
        (["train", "missing.svm"], "missing.svm: "),
        (["train", "ROWS", "--on-bad-row", "weep"], "on_bad_row must be 'stop' or 'skip'"),
        (["predict", "ROWS", "-m", "ROWS"], "this is no oneof model file"),
        (["predict", "ROWS", "-m", "MODEL", "--top", "9"], "the model has 4 classes only"),
        (["predict", "ROWS", "-m", "MODEL", "--to", "cvs"], "did you mean csv?"),
        (["predict", "ROWS", "-m", "MODEL", "-o", "/dev/full"], "/dev/full: No space left"),
        (["predict", "ROWS"], "Missing option '--model'"),
        (["evaluate", "ROWS", "-m", "missing"], "missing: No such file or directory"),
        (["inspect", "/dev/null"], "this is no regular file"),
        (["inspcet", "MODEL"], "Did you mean 'inspect'?"),
    ],
)
@pytest.mark.usefixtures("temporary")
def test_wrong_usage_is_one_sentence(
    arguments, sentence, rows, model, team, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    names = {"ROWS": str(rows), "MODEL": str(model), "TEAM": str(team)}
    assert run(*(names.get(a, a) for a in arguments)) == 2
    errors = [line for line in capfd.readouterr().err.splitlines() if line.startswith("oneof: ")]
    assert len(errors) == 1
    assert sentence in errors[0]
    assert os.listdir(tmp_path) == []


BAD_INPUTS = {
    "truncated.svm.gz": (lambda raw: gzip.compress(raw)[:-40], "cut off"),
    "nan.svm": (lambda raw: raw + b"cat 0:nan\n", "nan.svm:301: "),
    "long.svm": (lambda raw: raw + b"cat 0:1" + b" " * (20 << 20), "nan|longer than"),
    "empty.svm": (lambda raw: raw[:0], "there are no rows"),
    "label.svm": (lambda raw: raw + b"zebra\x01 0:1\n", "label.svm:301: "),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
@pytest.mark.parametrize("classes", [[], ["--classes", "cat,dog,fox,élan"]])
def test_bad_input_leaves_the_old_model(name, classes, rows, tmp_path, capfd):
    spoil, sentence = BAD_INPUTS[name]
    (tmp_path / name).write_bytes(spoil(rows.read_bytes()))
    old = tmp_path / "m.oneof"
    old.write_bytes(b"old")
    code = run("train", tmp_path / name, *classes, "-q", "-o", old)
    assert code == 2
    error = capfd.readouterr().err
    assert error.startswith("oneof: ")
    assert error.count("\n") == 1
    assert any(part in error for part in sentence.split("|"))
    assert old.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == sorted([name, "m.oneof"])


def test_windows_files_pipes_and_compressed_files_train_alike(rows, model, tmp_path):
    raw = rows.read_bytes()
    (tmp_path / "crlf.svm").write_bytes(raw.replace(b"\n", b"\r\n"))
    (tmp_path / "bom.svm").write_bytes(b"\xef\xbb\xbf" + raw)
    (tmp_path / "open.svm").write_bytes(raw[:-1])
    (tmp_path / "rows.svm.gz").write_bytes(gzip.compress(raw))
    (tmp_path / "bad.svm").write_bytes(raw + b"cat 0:nan\n")
    os.mkfifo(tmp_path / "fifo.svm")
    classes = ["--classes", "cat,dog,fox,élan"]
    for name, options in [
        ("crlf.svm", []), ("bom.svm", []), ("open.svm", []), ("rows.svm.gz", []),
        ("bad.svm", ["--on-bad-row", "skip", "--rejects", tmp_path / "rejects"]),
        ("fifo.svm", classes),
    ]:  # fmt: skip
        path, out = tmp_path / name, tmp_path / "m"
        writer = threading.Thread(target=lambda p=path: p.write_bytes(raw))
        if name == "fifo.svm":
            writer.start()
        assert run("train", path, *options, "-q", "-o", out) == 0
        assert out.read_bytes() == model.read_bytes(), name
    writer.join()
    assert "not finite" in json.loads((tmp_path / "rejects").read_text())["reason"]
    done = ran("train", "-", "--format", "svmlight", *classes, "-o", out, stdin=raw)
    assert (done.returncode, out.read_bytes() == model.read_bytes()) == (0, True)


def test_a_full_disk_in_the_middle_of_a_write_leaves_the_old_file(rows, model, tmp_path):
    program = """
import resource, sys
from oneof.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))
sys.exit(main(sys.argv[1:]))
"""
    for command in (["train", "-q"], ["predict", "-m", str(model)]):
        out = tmp_path / "out"
        out.write_bytes(b"old")
        done = subprocess.run(
            [sys.executable, "-c", program, *command, str(rows), "-o", str(out)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        lost = ": what was learnt is lost, for not even the temporary folder could be written"
        assert done.stderr == f"oneof: {out}: File too large{lost * (command[0] == 'train')}\n"
        assert out.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["out"]


def test_a_reader_that_leaves_is_no_failure(rows, model):
    command = f"{sys.executable} -m oneof predict {rows} -m {model} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("prediction\n", "")


FORMATS = ["svm", "csv", "tsv.gz", "jsonl", "parquet", "arrow"]


def test_every_format_trains_predicts_and_evaluates_alike(tmp_path, capfd):
    pytest.importorskip("pyarrow")
    rows = write_rows(tmp_path / "rows.svm", n=120)
    outputs = {}
    for suffix in FORMATS:
        data, model = tmp_path / f"data.{suffix}", tmp_path / "m"
        assert run("convert", rows, "-o", data) == 0
        assert run("train", data, "-q", "-o", model, "--model", "max-pegasos") == 0
        assert run("predict", data, "-m", model, "-o", tmp_path / "p.csv") == 0
        capfd.readouterr()
        assert run("evaluate", data, "-m", model, "--json") == 0
        outputs[suffix] = (capfd.readouterr().out, (tmp_path / "p.csv").read_text())
        checkpoint = ["--checkpoint", tmp_path / f"{suffix}.ckpt", "--checkpoint-every", "50"]
        command = ["train", data, "-q", "--model", "max-pegasos", *checkpoint]
        assert run(*command, "-o", tmp_path / "again") == 0
        assert run(*command, "--resume", "-o", tmp_path / "again") == 0
        assert (tmp_path / "again").read_bytes() == model.read_bytes(), suffix
        assert run("train", data, "-q", "--init", model, "-o", tmp_path / "again") == 0
        assert oneof.load(tmp_path / "again").t_ == 240
    assert outputs["csv"] == outputs["jsonl"] == outputs["parquet"] == outputs["arrow"]
    assert outputs["svm"] == outputs["csv"] == outputs["tsv.gz"]


def test_a_model_remembers_how_words_became_features(tmp_path, capfd):
    (tmp_path / "pets.csv").write_text(
        "kind,colour,size,id\ncat|fox,red,1,7\ndog,brown,2,8\ncat,black,1,9\nfox,red,1.5,10\n"
    )
    (tmp_path / "new.csv").write_text("id,size,colour\n1,1.5,red\n2,2,brown\n")
    model = tmp_path / "m"
    options = ["--label-column", "kind", "--hash-bits", "10", "--categorical-column", "colour",
               "--ignore-column", "id", "--passes", "9", "-q"]  # fmt: skip
    assert run("train", tmp_path / "pets.csv", *options, "-o", model) == 0
    assert run("inspect", model) == 0
    assert "hash_bits=10" in capfd.readouterr().out
    assert run("predict", tmp_path / "new.csv", "-m", model) == 0
    assert capfd.readouterr().out.splitlines() == ["prediction", "fox", "dog"]


def test_ambiguous_files_hold_the_truth_in_every_set(tmp_path, capfd):
    exact = tmp_path / "exact.svm"
    labels = np.random.default_rng(0).choice(["a", "b", "c", "d"], 400)
    exact.write_text("".join(f"{y} 0:{i}\n" for i, y in enumerate(labels)))
    out = tmp_path / "out.svm"
    for options in (["--size", 2], ["--rate", 0.3], ["--ambiguous", 0.5, "--partner", 0.8]):
        written = []
        for seed in (0, 0, 1):
            assert run("ambiguate", exact, *options, "--seed", seed, "-o", out) == 0
            written.append(out.read_bytes())
        assert written[0] == written[1] != written[2]
        batch = next(iter(open_source(out)))
        assert batch.candidates.classes[batch.truth].tolist() == labels.tolist()
        assert batch.candidates.contains(labels).all()
        assert batch.X.toarray().ravel().tolist() == list(range(400))
        sizes = batch.candidates.sizes()
        if options[0] == "--size":
            assert (sizes == 2).all()
        elif options[0] == "--rate":
            assert abs(sizes.mean() - 1.9) < 0.15
        else:
            assert abs((sizes == 2).mean() - 0.5) < 0.1
    assert run("ambiguate", exact, "--size", 2, "--no-truth", "-o", out) == 0
    assert b"truth" not in out.read_bytes()
    capfd.readouterr()
    for arguments, sentence in [
        ([exact], "say how to choose the wrong labels"),
        ([exact, "--size", 2, "--rate", 0.1], "say how to choose the wrong labels"),
        ([exact, "--size", 9], "size must be an integer from 1 to 4"),
        ([out, "--size", 2], "row 1 has 2 labels: only rows with one label each"),
    ]:
        assert run("ambiguate", *arguments, "-o", tmp_path / "never.svm") == 2
        assert sentence in capfd.readouterr().err
    assert not (tmp_path / "never.svm").exists()
