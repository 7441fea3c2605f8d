"""Inputs as they come to `oneof train`: damaged, endless, empty, from pipes; one sentence each."""

import gzip
import json
import lzma
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from commands import run, write_rows

DECLARED = ["--classes", "cat,dog,fox,élan"]
BAD = b"cat 0:nan\n"


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.svm", n=300).read_bytes()


def put(path, data, as_pipe):
    """Make a file, or a FIFO that a thread fills."""
    if not as_pipe:
        path.write_bytes(data)
        return

    def feed():
        with suppress(BrokenPipeError):  # a reader that has seen enough
            path.write_bytes(data)

    os.mkfifo(path)
    threading.Thread(target=feed, daemon=True).start()


CRLF, BOM = (b"\n", b"\r\n"), b"\xef\xbb\xbf"
# The input's name, its bytes made from good ones, the place that is named, and what is said of it.
ODD = [
    ("cut.svm.gz", lambda raw: gzip.compress(raw)[:-40], "", "the file is cut off"),
    ("cut.svm.xz", lambda raw: lzma.compress(raw)[:-40], "", "the file is cut off"),
    ("text.svm.gz", lambda raw: raw, "", "is not gzip data, though its name says so"),
    ("damaged.svm.gz", lambda raw: gzip.compress(raw)[:-8] + bytes(8), "", "data are damaged"),
    ("crlf.svm", lambda raw: (raw + BAD).replace(*CRLF), ":301", "is not finite"),
    ("bom.svm", lambda raw: BOM + BAD + raw, ":1", "is not finite"),
    ("boms.svm", lambda raw: raw + BOM + raw, ":301", "is not among the 4 classes"),
    ("open.svm", lambda raw: raw + BAD[:-1], ":301", "is not finite"),
    ("open.svm.gz", lambda raw: gzip.compress(raw + BAD[:-1]), ":301", "is not finite"),
    ("nul.svm", lambda raw: raw + b"cat 0:1\x00\n", ":301", "is not a number"),
    ("binary.svm", lambda raw: raw + bytes(range(128, 256)) + b"\n", ":301", "not UTF-8"),
    ("empty.svm", lambda _: b"", "", "there are no rows"),
    ("empty.svm.gz", lambda _: gzip.compress(b""), "", "there are no rows"),
    ("comments.svm", lambda _: b"# nothing\n\n", "", "there are no rows"),
]


@pytest.mark.parametrize("as_pipe", [False, True], ids=["file", "fifo"])
@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
@pytest.mark.parametrize(("name", "spoilt", "place", "what"), ODD, ids=[odd[0] for odd in ODD])
def test_an_input_that_cannot_be_read_is_one_sentence(
    name, spoilt, place, what, is_old, as_pipe, raw, tmp_path, capfd
):
    put(tmp_path / name, spoilt(raw), as_pipe)
    out = tmp_path / "m"
    if is_old:
        out.write_bytes(b"old")
    assert run("train", tmp_path / name, *DECLARED, "-q", "-o", out) == 2
    (sentence,) = capfd.readouterr().err.splitlines()
    assert sentence.startswith(f"oneof: {tmp_path / name}{place}: ")
    assert what in sentence
    assert sorted(os.listdir(tmp_path)) == sorted([name, *["m"] * is_old])
    assert not is_old or out.read_bytes() == b"old"


@pytest.mark.parametrize("classes", [[], DECLARED])
def test_a_folder_is_no_input(classes, tmp_path, capfd):
    (tmp_path / "rows.svm").mkdir()
    assert run("train", tmp_path / "rows.svm", *classes, "-q", "-o", tmp_path / "m") == 2
    assert capfd.readouterr().err == (
        f"oneof: {tmp_path / 'rows.svm'}: is a folder: name its files, for example with a pattern\n"
    )
    assert os.listdir(tmp_path) == ["rows.svm"]


# Of this program alone: what getrusage tells begins with the memory of whoever started it.
WITH_PEAK = """
import json, sys
from oneof.cli import main
codes = [main(command) for command in json.loads(sys.argv[1])]
lines = dict(line.split(":") for line in open("/proc/self/status"))
print(json.dumps([codes, int(lines["VmHWM"].split()[0])]))
"""
MOST = 400 << 10  # KiB; Python with all that is imported takes a third of it


def measured(*commands):
    """Return the exit codes of commands in one process, what they said, and their most memory."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", WITH_PEAK, words], capture_output=True, text=True, check=True
    )
    codes, peak = json.loads(done.stdout)
    return codes, done.stderr.splitlines(), peak


def test_a_line_of_a_gigabyte_is_never_held(raw, tmp_path):
    """It comes through a pipe: nothing stores it."""
    (tmp_path / "rows.svm").write_bytes(raw)
    pipe = tmp_path / "pipe.svm"
    os.mkfifo(pipe)

    def feed():
        with pipe.open("wb", buffering=0) as file:
            file.write(b"cat 0:1")
            spaces = b" " * (1 << 20)
            for _ in range(1 << 10):
                file.write(spaces)
            file.write(b"\n" + raw)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    rejects = tmp_path / "rejects"
    skip = ["--on-bad-row", "skip", "--rejects", rejects]
    command = ["train", pipe, *DECLARED, *skip, "-q", "-o", tmp_path / "m"]
    codes, sentences, peak = measured(command)
    feeder.join()
    assert (codes, sentences) == ([0], [])
    assert peak < MOST
    assert rejects.stat().st_size < 1 << 17
    assert run("train", tmp_path / "rows.svm", *DECLARED, "-q", "-o", tmp_path / "expected") == 0
    assert (tmp_path / "m").read_bytes() == (tmp_path / "expected").read_bytes()


def test_files_of_one_endless_line_are_one_sentence_each(tmp_path):
    """They have a gigabyte of nothing, which takes no room on the disk."""
    starts = {"1.svm": b"cat 0:1 ", "2.csv": b"candidates,a\ncat,", "1.jsonl": b'{"candidates": '}
    for name, start in starts.items():
        (tmp_path / name).write_bytes(start)
        os.truncate(tmp_path / name, 1 << 30)
    paths = [tmp_path / name for name in starts]
    commands = [["train", path, *DECLARED, "-q", "-o", tmp_path / "m"] for path in paths]
    codes, sentences, peak = measured(*commands)
    assert codes == [2, 2, 2]
    for path, sentence in zip(paths, sentences, strict=True):
        place = f"{path}:{path.name[0]}"
        assert sentence.startswith(f"oneof: {place}: the line is longer than 16777216 bytes")
    assert peak < MOST
    assert sorted(os.listdir(tmp_path)) == sorted(starts)
