"""Sources: every way that files arrive, continue, break and end."""

import gzip
import io
import json
import lzma
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from oneof.readers import BadRow, InputError, open_source
from reading import joined

try:
    from compression import zstd
except ImportError:
    from backports import zstd

ROWS = 200
LINES = [f"{i % 3},{3 + i % 2} {i % 5}:{i}.25 9:2 # truth={i % 3}\n" for i in range(ROWS)]
TEXT = "".join(LINES).encode()
COMPRESS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}


def write(folder, name, data=TEXT):
    path = folder / name
    path.write_bytes(data)
    return path


def readers():
    return [t for t in threading.enumerate() if t.name == "oneof-reader"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("prefetch", [0, 2])
def test_plain_or_compressed_the_rows_are_the_same(tmp_path, suffix, prefetch):
    path = write(tmp_path, f"rows.svm{suffix}", COMPRESS[suffix](TEXT))
    source = open_source(path, batch_rows=64, prefetch=prefetch)
    X, sets, truth = joined(source)
    assert sets == [{i % 3, 3 + i % 2} for i in range(ROWS)]
    assert truth == [i % 3 for i in range(ROWS)]
    assert X[7].tolist() == [0, 0, 7.25, 0, 0, 0, 0, 0, 0, 2]
    assert source.size == source.tell() == path.stat().st_size
    assert (source.n_rows_read, source.n_skipped) == (ROWS, 0)
    assert not readers()


def test_batches_that_are_kept_stay_as_they_were(tmp_path):
    # Large batches: the memory of those that are dropped is used again.
    n = 30_000
    rows = [" ".join(f"{j}:{i}.5" for j in range(n)) for i in range(24)]
    path = write(tmp_path, "rows.svm", "".join(f"3 {row}\n" for row in rows).encode())
    kept = [b for b in open_source(path, classes=[3], batch_rows=1) if b.position["rows"] % 3]
    assert [b.position["rows"] for b in kept] == [i for i in range(25) if i % 3]
    for batch in kept:
        assert batch.X.indices.tolist() == list(range(n))
        assert set(batch.X.data.tolist()) == {batch.position["rows"] - 0.5}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_members_one_after_another(tmp_path, suffix):
    half = len(TEXT) // 2 + 3
    data = b"".join(map(COMPRESS[suffix], (TEXT[:half], b"", TEXT[half:])))
    _, sets, _ = joined(open_source(write(tmp_path, f"rows.svm{suffix}", data)))
    assert len(sets) == ROWS


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_compressed_file_that_is_cut_off_is_one_sentence(tmp_path, suffix):
    whole = COMPRESS[suffix](TEXT * 50)
    for kept in (len(whole) - 1, len(whole) // 2, 20):
        path = write(tmp_path, f"rows.svm{suffix}", whole[:kept])
        with pytest.raises(InputError, match="compressed data end too early: the file is cut off"):
            list(open_source(path, classes=range(5)))
    assert not readers()


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_damaged_compressed_file_is_one_sentence(tmp_path, suffix):
    whole = bytearray(COMPRESS[suffix](TEXT))
    for i in (-6, len(whole) // 2):
        damaged = whole.copy()
        damaged[i] ^= 0xFF
        path = write(tmp_path, f"rows.svm{suffix}", bytes(damaged))
        with pytest.raises(InputError, match=r"rows\.svm.*compressed data|rows\.svm.*:\d+: "):
            list(open_source(path, classes=range(5)))
    path = write(tmp_path, f"rows.svm{suffix}", TEXT)
    with pytest.raises(InputError, match="though its name says so"):
        open_source(path)


def test_an_extra_that_is_missing_is_named_with_its_command(tmp_path, monkeypatch):
    path = write(tmp_path, "rows.svm.zst", zstd.compress(TEXT))
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ValueError, match=r"pip install 'oneof\[zstd\]'"):
        open_source(path)


def test_several_files_and_patterns_are_one_stream(tmp_path):
    write(tmp_path, "b.svm", b"".join(line.encode() for line in LINES[100:]))
    write(tmp_path, "a.svm.gz", gzip.compress("".join(LINES[:100]).encode()))
    for paths in (tmp_path / "*.svm*", [tmp_path / "a.svm.gz", tmp_path / "b.svm"]):
        source = open_source(paths, batch_rows=30)
        assert joined(source)[2] == [i % 3 for i in range(ROWS)]
        assert source.tell() == source.size
    with pytest.raises(InputError, match=r"no file matches this pattern"):
        open_source(tmp_path / "*.csv")


def test_inputs_that_are_none(tmp_path):
    with pytest.raises(InputError, match=r"absent\.svm: No such file"):
        open_source(tmp_path / "absent.svm")
    with pytest.raises(InputError, match="is a folder"):
        open_source(tmp_path)
    with pytest.raises(InputError, match="the name does not tell the format"):
        open_source(write(tmp_path, "rows.data"))
    with pytest.raises(InputError, match=r"there are no rows"):
        open_source(write(tmp_path, "empty.svm", b""))
    with pytest.raises(ValueError, match="format must be one of"):
        open_source(tmp_path / "rows.data", "arff")
    with pytest.raises(ValueError, match="there is no input"):
        open_source([])
    assert list(open_source(tmp_path / "empty.svm", classes=[1])) == []


def test_every_position_continues_with_the_same_rows(tmp_path):
    texts = [TEXT, b"\xef\xbb\xbf# nothing\r\n\n", b"\xef\xbb\xbf" + TEXT.rstrip(b"\n"), TEXT]
    for suffix in ("", ".gz"):
        for i, text in enumerate(texts):
            write(tmp_path, f"{i}.svm{suffix}", COMPRESS[suffix](text))
        source = open_source(tmp_path / f"*.svm{suffix}", batch_rows=70)
        whole = joined(source)
        read = 0
        for batch in open_source(tmp_path / f"*.svm{suffix}", batch_rows=70):
            read += len(batch)
            assert batch.position["rows"] == read
            source.seek(json.loads(json.dumps(batch.position)))
            rest = joined(source)
            np.testing.assert_array_equal(rest[0], whole[0][read:])
            assert rest[1:] == (whole[1][read:], whole[2][read:])
            assert source.n_rows_read == 3 * ROWS
            assert source.tell() == source.size
    assert joined(source)[1] == whole[1]  # without a seek: from the beginning again


def test_a_position_of_something_else_is_refused(tmp_path):
    path = write(tmp_path, "rows.svm")
    source = open_source(path, batch_rows=10)
    for wrong in ({}, {"file": 0}, {**source.position, "line": -1}, {**source.position, "file": 9}):
        with pytest.raises(ValueError, match="position"):
            source.seek(wrong)
    for suffix in ("", ".gz"):
        path = write(tmp_path, f"other.svm{suffix}", COMPRESS[suffix](TEXT[:40]))
        other = open_source(path, classes=range(5), on_bad_row="skip")
        other.seek({**source.position, "offset": 300, "line": 7})
        with pytest.raises(InputError, match="ends before the place to continue from"):
            list(other)


def test_fingerprints_tell_inputs_apart(tmp_path):
    def of(data, **options):
        return open_source(write(tmp_path, "rows.svm", data), **options).fingerprint()

    first = of(TEXT)
    assert first == of(TEXT) == json.loads(json.dumps(first))
    changed = TEXT.replace(b"truth=1", b"truth=2", 1)
    for other in (of(TEXT + b"\n"), of(changed), of(TEXT, n_features=99)):
        assert other != first


def test_bad_rows_are_counted_and_kept_with_their_reasons(tmp_path):
    text = b"3 1:1\n3 1:x\r\n7 1:1\n\xff\xfe 1:1\n3 2:" + b"9" * 99 + b"\n"
    path, rejects = write(tmp_path, "rows.svm", text), tmp_path / "rejects.jsonl"
    source = open_source(path, on_bad_row="skip", rejects=rejects, batch_rows=1, max_line=60)
    (first, second) = list(source)
    assert (source.n_rows_read, source.n_skipped) == (2, 3)
    kept = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [row["line"] for row in kept] == [2, 4, 5]
    assert [row["raw"][:9] for row in kept] == ["3 1:x", "\\xff\\xfe ", "3 2:99999"]
    assert "is not a number" in kept[0]["reason"]
    whole = rejects.read_bytes()
    source.seek(first.position)
    assert source.n_skipped == 0
    list(source)
    assert rejects.read_bytes() == whole
    source.seek(second.position)
    assert (source.n_rows_read, source.n_skipped) == (2, 1)
    list(source)
    assert rejects.read_bytes() == whole
    rejects.write_bytes(b"")
    source.seek(second.position)
    with pytest.raises(InputError, match="shorter than it was"):
        list(source)
    with pytest.raises(ValueError, match="say on_bad_row='skip' too"):
        open_source(path, rejects=rejects)
    with pytest.raises(InputError, match="cannot be written"):
        list(open_source(path, on_bad_row="skip", rejects=tmp_path / "no" / "folder"))


def test_errors_survive_a_process_boundary(tmp_path):
    with pytest.raises(BadRow) as refused:
        open_source(write(tmp_path, "rows.svm", b"3 1:x"))
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.line) == (str(refused.value), 1)


def fed(path, pieces, pause=0.0):
    """Write to a FIFO from a thread, piece by piece."""

    def feed():
        with open(path, "wb", buffering=0) as pipe:
            for piece in pieces:
                pipe.write(piece)
                time.sleep(pause)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT)])
def test_a_fifo_is_read_as_it_fills(tmp_path, data):
    path = tmp_path / "rows.svm"
    os.mkfifo(path)
    with pytest.raises(InputError, match="can be read only once, so a first pass cannot find the"):
        open_source(path)
    source = open_source(path, classes=range(5), batch_rows=50)
    assert (source.size, source.fingerprint()["files"][0]["size"]) == (None, None)
    feeder = fed(path, [data[i : i + 100] for i in range(0, len(data), 100)])
    assert len(joined(source)[1]) == ROWS
    feeder.join()
    with pytest.raises(InputError, match="can be read only once"):
        list(source)
    assert source.tell() == len(data)


def test_waiting_for_a_fifo_can_be_stopped(tmp_path):
    path = tmp_path / "rows.svm"
    os.mkfifo(path)
    keep = os.open(path, os.O_RDWR)  # a writer that never writes
    # A shell that runs tests in the background has its children ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    source = open_source(path, classes=range(5))
    running = iter(source)
    threading.Timer(0.1, lambda: os.write(keep, LINES[0].encode() * 2)).start()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(running)
    source.close()
    assert not readers()
    os.close(keep)


def test_standard_input():
    program = (
        "from oneof.readers import open_source\n"
        "source = open_source('-', 'svmlight', classes=range(5), batch_rows=7)\n"
        "print(sum(map(len, source)), source.tell())"
    )
    for data in (TEXT, gzip.compress(TEXT)):
        done = subprocess.run(
            [sys.executable, "-c", program], input=data, capture_output=True, check=True
        )
        assert done.stdout.split() == [b"200", str(len(data)).encode()]
    with pytest.raises(ValueError, match="name it once"):
        open_source(["-", "-"], "svmlight")


def test_an_iteration_that_is_left_ends_its_thread(tmp_path):
    path = write(tmp_path, "rows.svm", TEXT * 20)
    source = open_source(path, batch_rows=5)
    for batch in source:
        assert batch.position["rows"] == 5
        break
    next(iter(source))
    source.close()
    assert not readers()
    for _ in open_source(path, batch_rows=5):
        break
    assert not readers()


def test_what_a_left_iteration_had_read_does_not_turn_up_later(tmp_path):
    rows = {
        "rows.svm": "3 1:{}\n",
        "rows.csv": "1,{}\n",
        "rows.jsonl": '{{"x": {{"a": {}}}, "candidates": [1]}}\n',
    }
    for name, row in rows.items():
        text = "candidates,a\n" * name.endswith("csv") + "".join(map(row.format, range(50)))
        write(tmp_path, name, text.encode() + b"bad:\n")
        for prefetch in (0, 2):
            source = open_source(
                tmp_path / name, batch_rows=20, on_bad_row="skip", prefetch=prefetch
            )
            for _ in range(3):
                next(iter(source))
            assert joined(source)[0][:, -1].tolist() == list(range(50))
        stopping = open_source(tmp_path / name, batch_rows=20, classes=[1, 3])
        for _ in range(3):
            seen = []
            with pytest.raises(BadRow):
                seen += (batch.position["rows"] for batch in stopping)
            assert (seen, stopping.n_rows_read) == ([20, 40], 40)


def test_memory_does_not_grow_with_the_input():
    program = (
        "from resource import RUSAGE_SELF, getrusage; from oneof.readers import open_source\n"
        "def peak(): return getrusage(RUSAGE_SELF).ru_maxrss\n"
        "for i, batch in enumerate(open_source('-', 'svmlight', classes=range(5))):\n"
        "    start = peak() if i == 10 else 0 if i < 10 else start\n"
        "print(i, peak() - start)"
    )
    line = ("3,4 " + " ".join(f"{j}:{j}.25" for j in range(200)) + "\n").encode()
    feeder = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    for _ in range(100):
        feeder.stdin.write(line * 500)
    output, _ = feeder.communicate()
    n_batches, grown = map(int, output.split())
    assert n_batches > 30
    assert grown < 16 << 10  # KiB; the input is 100 MB


def test_a_program_may_end_amid_an_iteration(tmp_path):
    program = (
        "import sys; from oneof.readers import open_source\n"
        "rows = iter(open_source(sys.argv[1], batch_rows=5)); next(rows)"
    )
    path = write(tmp_path, "rows.svm", TEXT * 50)
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_lines_beyond_the_limit_are_never_held():
    class Endless(io.RawIOBase):
        """One line of 300 MB."""

        left = 300_000_000

        def readinto(self, buffer):
            n = min(len(buffer), self.left)
            buffer[:n] = b"7" * n
            self.left -= n
            return n

    from oneof.readers.lines import Lines

    blocks, most = [], 0
    lines = Lines(Endless(), 1 << 20)
    for block in lines:
        blocks.append((block.is_overlong, block.beginning()[:2]))
        most = max(most, len(block.buffer))
    assert blocks == [(True, b"77")]
    assert most < 1 << 22
    assert (lines.place.offset, lines.place.line) == (300_000_000, 1)


def test_options_are_checked(tmp_path):
    path = write(tmp_path, "rows.svm")
    wrong = {
        "batch_rows": 0, "max_line": -1, "on_bad_row": "ignore", "dtype": "int32",
        "zero_based": "perhaps", "new_features": "ignore", "n_features": -1, "prefetch": -1,
    }  # fmt: skip
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=name):
            open_source(path, **{name: value})
