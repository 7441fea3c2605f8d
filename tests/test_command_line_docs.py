"""docs/command-line.md names every option; every command shown does what the page says."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from oneof import datasets
from oneof.cli.app import app
from oneof.experiments.spec import PROTOCOLS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALL_COMMANDS = typer.main.get_command(app).commands
# Documented where their results are.
ELSEWHERE = {"reproduce", "compare", "datasets"}


def commands_of(page):
    """Each command shown on a page, with the lines that come out of it."""
    for block in CONSOLE.findall(page.read_text()):
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            while command.endswith("\\"):
                more, _, output = output.partition("\n")
                command = command[:-1] + more.strip()
            yield command, output


def is_runnable(command):
    return not command.startswith(("git ", "pip ", "oneof reproduce", "oneof compare", "make "))


def understood(words):
    """Check a command as far as that is possible without running it."""
    match words:
        case ["git", "clone", *_]:
            pass
        case ["pip", "install", what]:
            extras = set(re.findall(r"\w+", what.partition("[")[2]))
            project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
            assert extras <= set(project["optional-dependencies"])
        case ["make", *targets]:
            subprocess.run(["make", "-n", *targets], cwd=ROOT, check=True, capture_output=True)
        case ["oneof", name, *arguments]:
            context = ALL_COMMANDS[name].make_context(name, arguments)
            known = {*datasets.names(), *PROTOCOLS}
            given = [*(context.params["dataset"] or []), context.params.get("protocol", "paper")]
            assert all(value in known or value.endswith(".mat") for value in given)
        case _:
            pytest.fail(f"neither run nor understood: {words}")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_that_are_not_run_here_are_understood(page):
    for command, _ in commands_of(page):
        for part in [] if is_runnable(command) else command.split("&&"):
            words = shlex.split(part.replace("<this repository>", "it"), comments=True)
            if words[0] != "cd":
                understood(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_commands_of_a_page_do_what_it_says(page, tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, expected in filter(lambda c: is_runnable(c[0]), commands_of(page)):
        done = subprocess.run(
            f"{command} 2>&1" if "oneof: " in expected else command,
            shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if expected:  # what is not shown may be anything
            assert done.stdout == expected, command
        assert done.returncode == (2 if expected.startswith("oneof: ") else 0), done.stderr


def test_the_page_has_commands():
    page = ROOT / "docs" / "command-line.md"
    assert sum(command.startswith("oneof ") for command, _ in commands_of(page)) > 10


COMMANDS = {name: command for name, command in ALL_COMMANDS.items() if name not in ELSEWHERE}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_documented(name):
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert f"oneof {name} " in text
    for parameter in COMMANDS[name].params:
        longest = max(parameter.opts, key=len)
        if longest.startswith("--") and longest not in ("--help", "--output"):
            assert re.search(rf"{longest}\b", text), f"oneof {name} {longest} is not documented"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_teaches_by_example(name):
    assert COMMANDS[name].help.count(f"oneof {name} ") >= 2
    for parameter in COMMANDS[name].params:
        assert parameter.name == "help" or parameter.help, f"{parameter.name} has no help"
