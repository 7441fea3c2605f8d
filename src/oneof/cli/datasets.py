"""The command `oneof datasets`: prints the table of data sets; no logic."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table


def datasets() -> None:
    """List the data sets: how large they are, where each would come from now, and its licence.

    Some are part of the package; the others come from the folder that the environment variable
    ONEOF_DATA names, from the cache of earlier downloads, or from the network. Nothing is
    downloaded by this command.
    """
    from oneof.datasets import describe

    table = Table(box=box.SIMPLE_HEAD)
    for name in ("name", "rows", "features", "classes", "from", "licence"):
        is_number = name in ("rows", "features", "classes")
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=is_number or name == "name",
            overflow="fold",
        )
    for row in describe():
        numbers = (f"{number}" for number in (row.rows, row.features, row.classes))
        table.add_row(row.name, *numbers, row.where, row.licence)
    Console().print(table)
