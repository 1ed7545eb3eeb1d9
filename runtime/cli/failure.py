"""How an error leaves the command: one line on stderr with its code, and an exit status."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import click

from actors.errors import GreenroomError, UsageError
from actors.errors.store import SessionExistsError, SessionNotFoundError, StoreOwnedError

FAILED: Final = 1
"""Something went wrong, or a log is not as promised."""
MISUSED: Final = 2
"""The call must be changed; click says the same for wrong options."""
INTERRUPTED: Final = 130
"""Stopped in order by Ctrl-C; the number shells use for it."""


class Commands(click.Group):
    """Commands that Ctrl-C ends with its own status wherever it meets them, also in their imports."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; click alone would say that it was aborted, and return 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None
        except BaseExceptionGroup as group:
            if group.split(KeyboardInterrupt)[1] is not None:
                raise
            raise SystemExit(INTERRUPTED) from None


@contextmanager
def told_plainly() -> Iterator[None]:
    """Leave the process with one line for an error of the tree, also for those that groups hold."""
    try:
        yield
    except GreenroomError as error:
        leave(error)
    except BaseExceptionGroup as group:
        ours = first_of_ours(group)
        if ours is None:
            raise
        leave(ours)


def leave(error: GreenroomError) -> NoReturn:
    """Say what failed and end the command."""
    click.echo(f"greenroom: {_text(error)} [{error.code}]", err=True)
    raise SystemExit(MISUSED if isinstance(error, UsageError) else FAILED)


def _text(error: GreenroomError) -> str:
    """Return the text, with a command in it where the error's own shows a call of a program."""
    match error:
        case StoreOwnedError():
            stop = "stop it first; chat and serve take it over with --take-over"
            return f"{error.store} is owned by {error.owner}: {stop}"
        case SessionNotFoundError() if type(error) is SessionNotFoundError:
            return f"no session {error.session_id!r}: greenroom sessions STORE lists them"
        case SessionExistsError():
            return f"session {error.session_id!r} exists: give another one with --id"
        case _:
            return str(error)


def first_of_ours(group: BaseExceptionGroup[BaseException]) -> GreenroomError | None:
    """Return the first error when nothing but errors of the tree is in the group."""
    ours, rest = group.split(GreenroomError)
    if ours is None or rest is not None:
        return None
    first: BaseException = ours
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, GreenroomError) else None
