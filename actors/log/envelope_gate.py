"""What any event must satisfy wherever it comes from: its surface fields and its place in the log.

Source: D-6, D-20, D-30..D-33, S-10, D-140, K-34.
"""

from collections.abc import Sequence

from actors.errors.log import SurfaceOpError, UnknownEventTypeError
from actors.log.core_words import SURFACE_WORDS
from actors.log.events import Hide, Replace, SurfaceOp
from actors.log.state import State


def check_known(state: State, event_type: str, *, ignorable: bool) -> None:
    """Refuse a stored event that this log cannot be read without (D-140).

    Raises:
        UnknownEventTypeError: the type is unknown and not marked ignorable.
    """
    if not ignorable and not state.vocabulary.knows(event_type):
        raise UnknownEventTypeError(event_type)


def check_envelope(
    state: State, event_type: str, op: SurfaceOp | None, sources: Sequence[int] | None
) -> None:
    """Check that the surface fields may stand on an event of this type.

    Raises:
        SurfaceOpError: they may not.
    """
    if isinstance(op, Hide):
        return  # the sources of a hide follow S-81
    if event_type in SURFACE_WORDS:
        if sources is not None and event_type == "assistant/message":
            raise SurfaceOpError("assistant-sources", "a reply has its evidence in its stream")
        if sources is not None and op is None:
            check_sources(state, sources)
        return
    if isinstance(op, Replace):
        raise SurfaceOpError("not-surface-op", f"{event_type} is never a node, so it replaces none")
    if sources is not None:
        raise SurfaceOpError("not-surface-sources", f"{event_type} is never a node")


def check_sources(state: State, sources: Sequence[int]) -> None:
    """Check the sources of a message (D-33).

    Raises:
        SurfaceOpError: they are not distinct earlier events.
    """
    if not sources:
        raise SurfaceOpError("sources-empty", "leave them out instead")
    if set(map(type, sources)) != {int} or min(sources) < 0:
        raise SurfaceOpError("sources-value", "each must be an event number")
    if len(sources) > 1 and len(set(sources)) != len(sources):
        raise SurfaceOpError("sources-duplicate", "each may stand once")
    if max(sources) >= state.events.next_seq:
        raise SurfaceOpError("sources-not-earlier", "each must be an earlier event")
