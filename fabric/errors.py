"""The one kind of error that a user can cause, and nothing else.

Every room raises `FabricError` (or a subclass) for bad input, missing files and refused work; the command line prints it as one
line and exits 1. Anything else that escapes is a bug of ours: one line, a log file, exit 3 (see `fabric.cli.boundary`).
"""

from __future__ import annotations


class FabricError(Exception):
    """An expected failure: one clear line for the user.

    `message` says what is wrong and where, with the arithmetic when a number is the reason; `hint` says what to do about it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


class FabricErrors(FabricError):
    """Several expected failures at once, in the order in which the user should read them (one line each)."""

    def __init__(self, errors: list[FabricError]) -> None:
        super().__init__(str(errors[0]) if len(errors) == 1 else f"{len(errors)} errors")
        self.errors = errors


class DesignError(FabricError):
    """The spec is well formed, but what it declares cannot be built.

    `path` is the place in the spec, in the form that the loader turns into file:line:column: `("backend", "zones", 0, "racks")`.
    """

    def __init__(self, path: tuple[str | int, ...], message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path
