"""The commands' common frame: parses, and says what is wrong with the usage; no logic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from typer.exceptions import TyperException

from oneof.cli import INTERRUPTED, say
from oneof.cli.compare import compare
from oneof.cli.convert import ambiguate, convert
from oneof.cli.datasets import datasets
from oneof.cli.evaluate import evaluate
from oneof.cli.inspect import inspect
from oneof.cli.predict import predict
from oneof.cli.reproduce import reproduce
from oneof.cli.train import train

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer(
    name="oneof",
    help="Learn classifiers online from ambiguous labels: the true label is one of these.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _common() -> None:
    """Keep a single command a command of its own."""


for command in (
    train, predict, evaluate, inspect, ambiguate, convert, reproduce, compare, datasets
):  # fmt: skip
    app.command()(command)

_COMMANDS = typer.main.get_command(app)  # made once, however often `run` is called


def run(arguments: Sequence[str]) -> int:
    """Run one command; wrong usage is said and gives 2, all other failures are raised."""
    try:
        code = _COMMANDS(list(arguments), prog_name="oneof", standalone_mode=False)
    except TyperException as error:
        return say(error.format_message(), 2) if str(error) else 2  # a bare `oneof` shows its help
    if code == INTERRUPTED:
        raise KeyboardInterrupt  # which typer has swallowed
    return code if isinstance(code, int) else 0
