"""Training on files: the same bytes however it is cut, stopped, killed and resumed."""

import json
import os
import signal
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneof
from commands import ended, forked, killed_and_resumed, ran, run, write_rows
from learners import bits
from oneof.catalogue import LEARNERS
from oneof.readers import open_source
from oneof.streaming.checkpoint import Checkpoint
from oneof.streaming.pieces import Order, Place, pieces
from oneof.streaming.training import Training, Watcher


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", n=700)


def begun(source, model="max-pegasos", **parameters):
    return LEARNERS[model](**parameters).begin(source.classes, source.n_features, source.dtype)


def trained(path, order, batch_rows=100, classes=None, **parameters):
    source = open_source(path, batch_rows=batch_rows, classes=classes)
    training = Training(begun(source, **parameters), source, order)
    training.run()
    return training


@pytest.mark.parametrize("model", LEARNERS)
def test_training_on_a_file_is_partial_fit_on_its_rows(rows, model):
    average = {} if model == "hedge" else {"average": True}
    training = trained(rows, Order(passes=2), model=model, **average)
    source = open_source(rows)
    whole = LEARNERS[model](**average)
    for batch in [*source, *source]:
        whole.partial_fit(batch.X, batch.candidates)
    assert bits(training.estimator) == bits(whole)
    counts = training.counts
    assert (counts.n_rounds, counts.n_mistakes, counts.n_updates) == (
        whole.t_, whole.n_mistakes_, whole.n_updates_
    )  # fmt: skip
    assert counts.n_known == counts.n_rounds == 1400
    assert 0 < counts.n_errors < 700
    assert counts.n_labels > 1400


def taken(source, order, place):
    return [(tuple(row.tolist()), p.after) for p in pieces(source, order, place)
            for row in p.X.toarray()]  # fmt: skip


@settings(max_examples=12)
@given(
    batches=st.integers(1, 300),
    window=st.sampled_from([0, 1, 7, 50, 99, 700, 5000]),
    resumed=st.integers(0, 10**6),
)
def test_rows_come_in_one_order_wherever_they_are_resumed(rows, batches, window, resumed):
    order = Order(passes=2, window=window, seed=3)
    whole = taken(open_source(rows, batch_rows=100), order, Place())
    assert len(whole) == 1400
    assert sorted(x for x, _ in whole[:700]) == sorted(x for x, _ in whole[700:])
    source = open_source(rows, batch_rows=batches)
    mine = taken(source, order, Place())
    assert [x for x, _ in mine] == [x for x, _ in whole]
    stop = resumed % len(mine)
    place = Place.from_json(json.loads(json.dumps(mine[stop][1].to_json())))
    n_learnt = stop + 1 + sum(after == mine[stop][1] for _, after in mine[stop + 1 :])
    rest = taken(open_source(rows, batch_rows=77), order, place)
    assert [x for x, _ in rest] == [x for x, _ in whole[n_learnt:]]


def test_a_window_shuffles_and_the_seed_decides(rows):
    orders = [
        [x for x, _ in taken(open_source(rows), Order(1, window, seed), Place())]
        for window, seed in [(0, 0), (100, 0), (100, 1), (700, 0)]
    ]
    assert len(set(map(tuple, orders))) == 4
    assert set(orders[0][:100]) == set(orders[1][:100]) == set(orders[2][:100])
    assert set(orders[0][:100]) != set(orders[3][:100])


class Cut(Watcher):
    """Ends a training in the middle, as losing power would."""

    def __init__(self, n):
        self.n = n

    def advance(self, n_bytes):  # noqa: ARG002 - the watcher's name for it
        self.n -= 1
        if self.n < 0:
            raise RuntimeError("power")


@settings(max_examples=16)
@given(
    n_pieces=st.integers(0, 9),
    window=st.sampled_from([0, 150]),
    every=st.sampled_from([1, 130, 400]),
    learner=st.sampled_from(
        [{}, {"average": True}, {"model": "hedge"}, {"model": "hedge", "scale": "standardize"}]
    ),
)
def test_resumed_training_ends_in_the_same_bytes(
    tmp_path_factory, rows, n_pieces, window, every, learner
):
    folder, order = tmp_path_factory.mktemp("run"), Order(passes=2, window=window, seed=1)
    whole = trained(rows, order, **learner)
    oneof.save(whole.estimator, folder / "whole")
    source = open_source(rows, batch_rows=50, classes=whole.source.classes)  # no width known
    training = Training(
        begun(source, **learner).begin(source.classes, 1, np.float32),
        source, order, Cut(n_pieces), folder / "ckpt", every_rounds=every,
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="power"):
        training.run()
    if (folder / "ckpt").exists():
        estimator, found = Checkpoint.read(folder / "ckpt")
        source = open_source(rows, batch_rows=91, classes=estimator.classes_)
        found.refuse_other(source, order, "ckpt")
        training = Training(estimator, source, order, place=found.place, counts=found.counts)
        training.run()
        oneof.save(estimator, folder / "resumed")
        assert (folder / "resumed").read_bytes() == (folder / "whole").read_bytes()
        assert training.counts == whole.counts


ARGUMENTS = ["--passes", "3", "--shuffle-buffer", "170", "--model"]


@pytest.mark.parametrize(
    ("n", "model"),
    [
        (30, ["avg-pegasos", "--average"]),
        (10, ["hedge", "--members", "avg-pegasos,soft-perceptron", "--average", "--rate", "0.2"]),
    ],
    ids=["avg-pegasos", "hedge"],
)
def test_killed_and_resumed_training_ends_in_the_same_bytes(rows, tmp_path, n, model):
    n_killed = 0
    while n_killed < n:
        n_killed += killed_and_resumed(rows, tmp_path, 5, *ARGUMENTS, *model)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_training_keeps_what_it_learnt(tmp_path, how):
    rows, fifo = write_rows(tmp_path / "rows.svm", n=300), tmp_path / "fifo.svm"
    os.mkfifo(fifo)
    child = forked("train", fifo, "--classes", "cat,dog,fox,élan", "-o", tmp_path / "m", "-q")
    with fifo.open("wb", buffering=0) as pipe:
        pipe.write(rows.read_bytes())
        time.sleep(0.5)
        os.kill(child, how)
        code = ended(child)
    assert code == 130
    assert not (tmp_path / "m").exists()
    assert oneof.load(tmp_path / "m.checkpoint").classes_.tolist() == ["cat", "dog", "fox", "élan"]


def test_a_checkpoint_that_does_not_fit_is_refused(rows, tmp_path, capsys):
    checkpoint, other = tmp_path / "ckpt", write_rows(tmp_path / "rows.svm", n=30, seed=5)
    first = ["train", rows, "-q", "--checkpoint", checkpoint, "--checkpoint-every", "100"]
    assert run(*first, "-o", tmp_path / "m") == 0
    for arguments, sentence in [
        (first, "exists: add --resume to go on from it, or delete it"),
        ([*first, "--resume", "--passes", "2"], "--passes was 1 and is 2 now"),
        ([*first, "--resume", "--shuffle-buffer", "9"], "--shuffle-buffer was 0 and is 9 now"),
        ([*first, "--resume", "--eta0", "3"], "eta0 was 1.0 and is 3.0 now"),
        ([*first, "--resume", "--model", "max-pegasos"], "holds avg-perceptron, not max-pegasos"),
        ([*first, "--resume", "--classes", "a,b"], "--classes are ['a', 'b'], but the model's are"),
        (["train", other, *first[2:], "--resume"], "the checkpoint does not fit: the input was"),
        (["train", rows, "--resume"], "--resume goes on from a checkpoint: name it"),
        (["train", rows, "--checkpoint", tmp_path / "m", "--resume"], "this is a finished model"),
        ([*first[:-1], "often"], "--checkpoint-every takes rows, such as 100000, or seconds"),
    ]:
        assert run(*arguments) == 2
        assert sentence in capsys.readouterr().err
    assert run(*first, "--resume", "-o", tmp_path / "again") == 0
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_spoilt_checkpoint_is_refused(rows, tmp_path):
    path = tmp_path / "ckpt"
    source = open_source(rows)
    training = Training(begun(source), source, Order())
    good = Checkpoint({}, Place(), training.counts)
    for part in (
        {"run": {}, "place": {}, "counts": good.counts.to_json()},
        {"run": {}, "place": {**good.place.to_json(), "skip": -1}, "counts": good.counts.to_json()},
        {"run": {}, "place": good.place.to_json(), "counts": {"n_rounds": 1}},
        {"run": [], "place": good.place.to_json(), "counts": good.counts.to_json()},
        {"place": good.place.to_json(), "counts": good.counts.to_json()},
    ):
        oneof.persistence.models.write(training.estimator, path, {"checkpoint": part})
        with pytest.raises(ValueError, match="the checkpoint is damaged"):
            Checkpoint.read(path)


def test_the_table_and_the_log_tell_the_progressive_counts(rows, tmp_path):
    log = tmp_path / "log"
    done = ran("train", rows, "--log", log, "-o", tmp_path / "m")
    assert done.returncode == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["n_rounds"] for line in lines] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 700]
    model, source = oneof.AvgPerceptron(), open_source(rows)
    for batch in source:
        predicted = model.progressive_fit(batch.X, batch.candidates)
        inside = [p in Y for p, Y in zip(predicted, batch.candidates, strict=True)]
        wrong = predicted != model.classes_[batch.truth]
    for line in lines:
        n = line["n_rounds"]
        assert line["n_mistakes"] == n - sum(inside[:n])
        assert line["n_errors"] == wrong[:n].sum()
        assert line["n_labels"] == batch.candidates.sizes()[:n].sum()
    table = done.stderr.decode().splitlines()
    assert table[0].split() == ["rounds", "mistakes", "since", "last", "updates", "set", "size",
                                "rows/s", "error"]  # fmt: skip
    assert len(table) == 12
    assert table[-1].split()[1] == f"{(700 - sum(inside)) / 700:.2%}"
    assert done.stdout.decode().startswith("avg-perceptron: 700 rounds, ")


@pytest.mark.parametrize(
    "model",
    [["max-pegasos", "--alpha", "0.1"], ["hedge", "--scale", "standardize", "--rate", "0.3"]],
    ids=["max-pegasos", "hedge"],
)
def test_init_goes_on_as_if_never_stopped(tmp_path, model):
    first, second = (write_rows(tmp_path / f"{i}.svm", seed=i) for i in (1, 2))
    both = tmp_path / "both.svm"
    both.write_bytes(first.read_bytes() + second.read_bytes())
    model = ["-q", "--model", *model]
    assert run("train", first, "-o", tmp_path / "a", *model) == 0
    assert run("train", second, "--init", tmp_path / "a", "-o", tmp_path / "b", "-q") == 0
    assert run("train", both, "-o", tmp_path / "c", *model) == 0
    assert run("train", first, second, "-o", tmp_path / "d", *model) == 0
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()
    assert (tmp_path / "d").read_bytes() == (tmp_path / "c").read_bytes()
