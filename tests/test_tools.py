"""The tools run."""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parent.parent / "tools"


def test_the_fuzzer_reports_what_it_read():
    command = [sys.executable, TOOLS / "fuzz.py", "--inputs", "500", "--first", "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("500 inputs, ")
    assert done.stdout.rstrip().endswith("no crash, none misread")
