"""Which part of what came out of an actor is a crash."""

import trio

from actors.errors import GreenroomError, StoreError, UsageError


def split(error: BaseException) -> tuple[Exception | None, BaseException | None]:
    """Return what of ``error`` is a crash, and what must go on to whoever owns the supervisor.

    A nursery mixes what its tasks raise. Cancellation and the wish to end the program are not the
    actor's own. With the latter everything goes on, so that nothing is lost from the last report.
    """
    if isinstance(error, Exception):
        return _alone(error), None
    if not isinstance(error, BaseExceptionGroup):
        return None, error
    crash, rest = error.split(Exception)
    if rest is not None and rest.split(trio.Cancelled)[1] is not None:
        return None, error
    return (_alone(crash) if isinstance(crash, Exception) else None), rest


def answer_of(crash: Exception, *, started: bool) -> GreenroomError | None:
    """Return what of a crash is for the callers to act upon, and no fault of the actor: then it is no crash.

    A store that cannot serve now is that at any moment; a wrong address, and a start that may succeed
    later, only before the actor has ``started``.
    """
    while isinstance(crash, ExceptionGroup) and crash.split(_is_store_fault)[1] is None:
        crash = crash.exceptions[0]
    if not isinstance(crash, GreenroomError):
        return None
    early = not started and (isinstance(crash, UsageError) or crash.retryable)
    return crash if early or _is_store_fault(crash) else None


def _is_store_fault(error: BaseException) -> bool:
    """Whether the store cannot serve now."""
    return isinstance(error, StoreError) and error.retryable


def describe(error: Exception) -> str:
    """Say in one line what went wrong first."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    text = str(cause)
    return f"{type(cause).__name__}: {text}" if text else type(cause).__name__


def _alone(error: Exception) -> Exception:
    """Take a single error out of the groups that nurseries put around it."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
