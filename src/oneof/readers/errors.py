"""What readers raise: an input that cannot be read, and a bad row of one that can."""

from __future__ import annotations


class InputError(ValueError):
    """An input cannot be read; the message is one sentence that names it.

    Attributes
    ----------
    path : str
        The input, as the user named it.
    """

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        super().__init__(f"{path}: {what}")

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (type(self), vars(self), str(self))


class UnwritableRejects(InputError):  # noqa: N818 - it is named after what it is about
    """The file of rejects cannot be written: no fault of the input."""


class BadRow(InputError):  # noqa: N818 - it is named after what it is about
    """A row cannot be read; the message starts with ``file:line:``.

    Attributes
    ----------
    path : str
        The input, as the user named it.
    line : int
        The line of the file, from 1; of a file without lines, its row, from 1.
    reason : str
        What is wrong, and what to do.
    """

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}", reason)
        self.path, self.line, self.reason = path, line, reason


def _remade(kind: type[InputError], attributes: dict[str, object], message: str) -> InputError:
    error = kind.__new__(kind, message)
    vars(error).update(attributes)
    return error
