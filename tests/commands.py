"""What the tests of commands share: small files, and commands in processes that can be killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from oneof.cli import main

LABELS = ["cat", "dog", "élan", "fox"]


def write_rows(path, n=500, d=12, seed=0, labels=LABELS, with_truth=True):
    """A file of separable rows in svmlight text, with two or three candidates each."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(len(labels), d))
    lines = []
    for _ in range(n):
        truth = int(rng.integers(len(labels)))
        x = centres[truth] + rng.normal(size=d)
        size = int(rng.integers(1, 4))
        others = rng.choice([k for k in range(len(labels)) if k != truth], size - 1, replace=False)
        names = ",".join(str(labels[k]) for k in sorted([truth, *others.tolist()]))
        features = " ".join(f"{j}:{v:.3f}" for j, v in enumerate(x) if abs(v) > 0.5)
        comment = f" # truth={labels[truth]}" if with_truth else ""
        lines.append(f"{names} {features}{comment}\n")
    Path(path).write_text("".join(lines))
    return path


def run(*arguments):
    """Run a command here; return its exit code."""
    return main([str(a) for a in arguments])


def ran(*arguments, stdin=None, env=None):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "oneof", *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, env={**os.environ, **(env or {})}
    )


def forked(*arguments):
    """Start a command in a copy of this process, silent; return the copy's id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1), os.dup2(silence, 2)
        code = run(*arguments)
    finally:
        os._exit(code)


def killed_and_resumed(rows, folder, moments, *arguments, every="500"):
    """Kill a training at random moments, resume it to its end, compare with one left in peace.

    Returns how often it was killed before its end.
    """
    whole, final, checkpoint = (Path(folder, name) for name in ("whole", "final", "ckpt"))
    for path in (whole, final, checkpoint):
        path.unlink(missing_ok=True)
    command = ["train", rows, *arguments, "-q", "--checkpoint-every", every, "--checkpoint"]
    start = time.monotonic()
    assert ended(forked(*command, checkpoint, "-o", whole)) == 0
    longest = time.monotonic() - start
    checkpoint.unlink()
    resumed = [*command, checkpoint, "--resume", "-o", final]
    n_killed = 0
    for _ in range(moments):
        child = forked(*resumed)
        time.sleep(random.random() * longest)
        os.kill(child, signal.SIGKILL)
        n_killed += ended(child) < 0
    assert ended(forked(*resumed)) == 0
    assert final.read_bytes() == whole.read_bytes()
    assert {path.name for path in Path(folder).iterdir()} == {"whole", "final", "ckpt"}
    return n_killed


def ended(child):
    """Wait for a process; return its exit code, or minus the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
