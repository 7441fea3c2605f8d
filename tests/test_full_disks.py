"""Disks that are full, folders that go or may not be written: nothing learnt or written is lost."""

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import oneof
from commands import run, write_rows
from oneof.readers import open_source
from oneof.streaming.checkpoint import Checkpoint
from oneof.streaming.pieces import Order
from oneof.streaming.training import Training, Watcher

DECLARED = ["--classes", "cat,dog,fox,élan"]
FULL = "No space left on device"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows whose model takes 144 kB: more than a pipe holds."""
    path = write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", n=600)
    path.write_bytes(path.read_bytes() + b"cat 9000:1\n")
    return path


@pytest.fixture(scope="module")
def whole(rows, tmp_path_factory):
    """The model of a training that nothing went wrong with."""
    path = tmp_path_factory.mktemp("whole") / "m"
    assert run("train", rows, *DECLARED, "-q", "-o", path) == 0
    return path.read_bytes()


@pytest.fixture
def disk(tmp_path):
    """A disk of 512 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk, room=0):
    """Leave as many bytes on a disk."""
    (disk / "fill").write_bytes(bytes(shutil.disk_usage(disk).free - room))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def said(capfd):
    """The sentences on the error output, which holds nothing else."""
    lines = capfd.readouterr().err.splitlines()
    assert all(line.startswith("oneof: ") for line in lines)
    return lines


def resumed(sentence, command):
    """Go on as a sentence says."""
    return run(*command, *shlex.split(sentence.partition("same command and ")[2]))


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.jsonl.zst", "out.parquet"])
@pytest.mark.parametrize("command", ["predict", "convert"])
def test_a_full_disk_leaves_the_old_output(command, name, disk, tmp_path, capfd):
    rows, model = write_rows(tmp_path / "rows.svm", n=2000), tmp_path / "m"
    assert run("train", rows, *DECLARED, "-q", "-o", model) == 0
    options = ["-m", model, "--scores"] if command == "predict" else []
    (disk / name).write_bytes(b"old")
    fill(disk, room=8192)
    before = contents(disk)
    assert run(command, rows, *options, "-o", disk / name) == 2
    sentence = f"oneof: {disk / name}: {FULL}: make room, or name another place"
    assert said(capfd) == [sentence]
    assert contents(disk) == before


@pytest.mark.parametrize("room", [0, 8192])
def test_a_model_for_which_there_is_no_room_is_kept_elsewhere(
    room, rows, whole, disk, temporary, capfd
):
    out = disk / "m"
    out.write_bytes(b"old")
    fill(disk, room)
    before = contents(disk)
    command = ["train", rows, *DECLARED, "-q", "-o", out]
    assert run(*command) == 2
    (sentence,) = said(capfd)
    assert sentence.startswith(f"oneof: {out}: {FULL}, but nothing is lost: go on with the same")
    assert str(temporary) in sentence
    assert contents(disk) == before
    (disk / "fill").unlink()
    assert resumed(sentence, command) == 0
    assert contents(disk) == {"m": whole}


@pytest.mark.parametrize("temporary", [".", "missing"])
def test_a_model_that_can_be_kept_nowhere_is_said_to_be_lost(
    temporary, rows, disk, monkeypatch, capfd
):
    fill(disk)
    with monkeypatch.context() as patch:  # pytest uses that folder, too
        patch.setattr(tempfile, "tempdir", str(disk / temporary))
        assert run("train", rows, *DECLARED, "-q", "-o", disk / "m") == 2
    (sentence,) = said(capfd)
    assert "what was learnt is lost" in sentence
    assert list(contents(disk)) == ["fill"]


class Cut(Watcher):
    """Ends a training in the middle, as losing power would."""

    n = 3

    def advance(self, n_bytes):  # noqa: ARG002 - the watcher's name for it
        self.n -= 1
        if not self.n:
            raise RuntimeError("power")


def begun(rows, watcher, checkpoint):
    """A training that writes a checkpoint every 100 rounds."""
    source = open_source(rows, classes=["cat", "dog", "fox", "élan"], batch_rows=100)
    model = oneof.AvgPerceptron().begin(source.classes, 1, source.dtype)
    return Training(model, source, Order(), watcher, checkpoint, every_rounds=100)


@pytest.mark.usefixtures("temporary")
def test_checkpoints_for_which_there_is_no_room_do_not_end_a_training(
    rows, whole, disk, tmp_path, capfd
):
    checkpoint, out = disk / "ckpt", tmp_path / "m"
    with pytest.raises(RuntimeError, match="power"):
        begun(rows, Cut(), checkpoint).run()
    fill(disk)
    before = contents(disk)
    command = ["train", rows, *DECLARED, "-q", "--checkpoint-every", "100"]
    assert run(*command, "--checkpoint", checkpoint, "--resume", "-o", out) == 2
    full = f"oneof: {checkpoint}: {FULL}"
    assert said(capfd) == [
        f"{full}: training goes on without a new checkpoint",
        f"{full}: the model is in {out}, only the last checkpoint is not written",
    ]
    assert contents(disk) == before
    assert out.read_bytes() == whole
    out.unlink()
    assert run(*command, "--checkpoint", checkpoint, "--resume") == 2  # it is all there is
    sentence = said(capfd)[-1]
    assert sentence.startswith(f"{full}, but nothing is lost: go on with the same command and ")
    assert contents(disk) == before
    assert resumed(sentence, [*command, "-o", out]) == 0
    assert out.read_bytes() == whole


def test_checkpoints_are_written_again_once_there_is_room(rows, whole, disk, tmp_path):
    class Witness(Watcher):
        """Makes room some time after a checkpoint has failed."""

        n_said = n_pieces = 0

        def checkpoint_failed(self, error):
            assert error.errno == errno.ENOSPC
            self.n_said += 1

        def advance(self, n_bytes):  # noqa: ARG002
            self.n_pieces += 1
            if self.n_pieces == 4:
                (disk / "fill").unlink()

    fill(disk)
    training = begun(rows, Witness(), disk / "ckpt")
    training.run()
    assert training.watcher.n_said == 1
    assert Checkpoint.read(disk / "ckpt")[1].counts.n_rounds == 600
    every = ["--checkpoint", disk / "ckpt", "--resume"]
    assert run("train", rows, *DECLARED, "-q", *every, "-o", tmp_path / "m") == 0
    assert (tmp_path / "m").read_bytes() == whole


def test_a_log_for_which_there_is_no_room_ends_alone(rows, whole, disk, tmp_path, capfd):
    fill(disk)
    log = disk / "log"
    assert run("train", rows, *DECLARED, "-q", "--log", log, "-o", tmp_path / "m") == 0
    assert said(capfd) == [f"oneof: {log}: {FULL}: training goes on without it"]
    assert (tmp_path / "m").read_bytes() == whole


def test_rejects_for_which_there_is_no_room_stop_a_training_that_can_go_on(
    rows, whole, disk, tmp_path, capfd
):
    bad = tmp_path / "bad.svm"
    bad.write_bytes(rows.read_bytes() + b"cat 0:nan\n" * 200)
    out, rejects = tmp_path / "m", disk / "rejects"
    fill(disk, room=4096)
    skip = ["--on-bad-row", "skip", "--rejects", rejects]
    command = ["train", bad, *DECLARED, *skip, "-q", "-o", out]
    assert run(*command) == 2
    (sentence,) = said(capfd)
    assert sentence.startswith(f"oneof: {rejects}: cannot be written ({FULL}), but nothing is lost")
    assert not out.exists()
    (disk / "fill").unlink()
    assert resumed(sentence, command) == 0
    assert out.read_bytes() == whole
    assert rejects.read_bytes().count(b"\n") == 200


def fed(fifo, raw, then):
    """Write to a FIFO, then do something before it ends."""

    def feed():
        with fifo.open("wb") as pipe:
            pipe.write(raw)
            pipe.flush()
            then()

    os.mkfifo(fifo)
    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return thread


def test_a_folder_that_goes_while_its_model_is_learnt(rows, whole, tmp_path, temporary, capfd):
    folder, fifo = tmp_path / "folder", tmp_path / "rows.svm"
    folder.mkdir()
    feeder = fed(fifo, rows.read_bytes(), folder.rmdir)
    assert run("train", fifo, *DECLARED, "-q", "-o", folder / "m") == 2
    feeder.join()
    (kept,) = temporary.glob("oneof-*/m.checkpoint")
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    assert said(capfd) == [
        f"oneof: {folder / 'm'}: No such file or directory, but nothing is lost: "
        f"the model so far is in {kept}"
    ]
    oneof.save(oneof.load(kept), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == whole


@pytest.mark.parametrize("is_full", [True, False], ids=["full", "taken"])
def test_a_stopped_training_is_kept_where_there_is_room(
    is_full, rows, disk, tmp_path, temporary, capfd
):
    (disk / "m.checkpoint").write_bytes(b"of another run")
    if is_full:
        fill(disk)
    before = contents(disk)
    # More than is read ahead: some rows have been learnt when the last are written.
    raw = rows.read_bytes() * 60
    feeder = fed(tmp_path / "rows.svm", raw, lambda: os.kill(os.getpid(), signal.SIGINT))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert run("train", tmp_path / "rows.svm", *DECLARED, "-q", "-o", disk / "m") == 130
    feeder.join()
    (sentence,) = said(capfd)
    (kept,) = temporary.glob("oneof-*/m.checkpoint")
    n = oneof.load(kept).t_
    assert n > 0
    assert sentence == f"oneof: interrupted after {n} rounds: the model so far is in {kept}"
    assert contents(disk) == before


def test_a_stop_while_the_model_is_written_loses_nothing(rows, whole, tmp_path, temporary):
    out = tmp_path / "out"
    os.mkfifo(out)  # writing waits for a reader, and then for it to make room
    command = [sys.executable, "-m", "oneof", "train", rows, *DECLARED, "-q", "-o", out]
    training = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
    )
    with out.open("rb"):
        training.terminate()
        sentence = training.communicate()[1]
    assert training.returncode == 130
    assert sentence.startswith("oneof: interrupted after 601 rounds: go on with the same command")
    assert str(temporary) in sentence  # beside a pipe is no place to look for it
    assert resumed(sentence, ["train", rows, *DECLARED, "-q", "-o", tmp_path / "m"]) == 0
    assert (tmp_path / "m").read_bytes() == whole


def test_an_input_that_goes_while_it_is_learnt_is_learnt_to_its_end(rows, tmp_path):
    class Mover(Watcher):
        def line(self, counts, seconds):  # noqa: ARG002
            path.unlink(missing_ok=True)

    path = tmp_path / "rows.svm"
    path.write_bytes(rows.read_bytes())
    training = begun(path, Mover(), tmp_path / "ckpt")
    training.run()
    assert Checkpoint.read(tmp_path / "ckpt")[1].counts.n_rounds == 600


@pytest.mark.parametrize("command", [["--version"], ["train", "ROWS", *DECLARED]])
def test_a_full_standard_output_is_one_sentence(command, rows):
    words = [rows if word == "ROWS" else word for word in command]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}  # else the end of Python is not tried
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "oneof", *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment,
        )  # fmt: skip
    assert done.returncode == 2
    (sentence,) = [line for line in done.stderr.splitlines() if "%" not in line][-1:]
    assert FULL in sentence
    assert "standard output" in sentence
    assert "Exception" not in done.stderr


def test_those_who_watch_may_leave(rows, whole, tmp_path):
    command = [sys.executable, "-m", "oneof", "train", rows, *DECLARED, "-o", tmp_path / "m"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stderr=full, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    assert (tmp_path / "m").read_bytes() == whole


AS_ANOTHER = """
import json, os, sys
import oneof.cli.training, oneof.streaming.conversion, oneof.streaming.prediction, oneof.writers
from oneof.cli import app, main
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps([main(command) for command in json.loads(sys.argv[1])]))
"""


def as_another(folder, commands):
    """Run commands without root's right to do everything; return the codes and the sentences."""
    done = subprocess.run(
        [sys.executable, "-c", AS_ANOTHER, json.dumps(commands)],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout), done.stderr.splitlines()


@pytest.fixture
def shared(rows, whole):
    """A folder that others may look into, with two where they may and may not write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows.svm").write_bytes(rows.read_bytes())
        (folder / "model").write_bytes(whole)
        for part in ("closed", "open"):
            (folder / part).mkdir()
            (folder / part / "old.csv").write_bytes(b"old")
        (folder / "open" / "old.csv").chmod(0o444)
        (folder / "secret.svm").write_bytes(rows.read_bytes())
        (folder / "secret.svm").chmod(0)
        for path, mode in ((folder, 0o755), (folder / "open", 0o777), (folder / "closed", 0o555)):
            path.chmod(mode)
        yield folder
        (folder / "closed").chmod(0o755)


def test_what_may_not_be_written_is_left_as_it_is(shared):
    train = ["train", "rows.svm", *DECLARED, "-q"]
    predict = ["predict", "rows.svm", "-m", "model"]
    denied = [
        [*train, "-o", "closed/old.csv"],
        [*train, "-o", "closed/new"],
        [*train, "-o", "open/never", "--checkpoint", "closed/ckpt"],
        [*train, "-o", "open/never", "--log", "closed/log"],
        [*predict, "-o", "closed/new.csv"],
        ["convert", "rows.svm", "-o", "closed/new.svm"],
        [*predict, "-o", "open/old.csv"],
        [*train, "-o", "open/old.csv"],
        ["train", *DECLARED, "-o", "open/never", "secret.svm"],
    ]
    codes, sentences = as_another(shared, [[*train, "-o", "open/m"], *denied])
    if codes[0]:
        pytest.skip(f"another user cannot use the temporary folder: {sentences}")
    assert codes == [0] + [2] * len(denied)
    for command, sentence in zip(denied, sentences, strict=True):
        assert sentence.startswith(f"oneof: {command[-1]}: ")
        assert "Permission denied" in sentence
    assert sorted(os.listdir(shared / "open")) == ["m", "old.csv"]
    assert contents(shared / "closed") == {"old.csv": b"old"}
    assert (shared / "open" / "old.csv").read_bytes() == b"old"


def test_a_disk_that_may_only_be_read_is_left_as_it_is(rows, disk, capfd):
    (disk / "old.csv").write_bytes(b"old")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    for name in ("old.csv", "new.csv"):
        for command in (["train", rows, *DECLARED, "-q"], ["convert", rows]):
            assert run(*command, "-o", disk / name) == 2
            assert said(capfd) == [
                f"oneof: {disk / name}: Read-only file system: name another place"
            ]
    assert contents(disk) == {"old.csv": b"old"}
