"""Committing a message projection: other content for nodes that stay where they are.

Source: D-75..D-83, K-2.
"""

from collections.abc import Mapping

import attrs
import orjson

from actors.errors import GreenroomError
from actors.errors.log import SurfaceOpError
from actors.json import JsonValue
from actors.log.codec import encode
from actors.log.events import Event
from actors.log.message_projections import Handler, ProjectionContext
from actors.log.state import State
from actors.log.surface import UNSET


def projected_contents(state: State, event: Event) -> dict[int, JsonValue]:
    """Return what the event's handler puts in the place of contents; nothing is changed yet.

    Raises:
        SurfaceOpError: ``projection-missing`` when the type has no handler, ``projection-refused`` when
            it raised, or changed something that is not a node's content.
    """
    handler = handler_of(state, event.type)
    context = ProjectionContext(state.surface, state.find, state.events, state.events.base)
    changed = _run(handler, event, context)
    return {seq: _checked(state, seq, content) for seq, content in changed.items()}


def handler_of(state: State, event_type: str) -> Handler:
    """Return the handler of a declared projection.

    Raises:
        SurfaceOpError: ``projection-missing`` (D-79, D-80).
    """
    handler = state.projections.find(event_type)
    if handler is None:
        raise SurfaceOpError(
            "projection-missing", f"{event_type} changes messages, and its extension is not loaded"
        )
    return handler


def commit(state: State, event_type: str, contents: Mapping[int, JsonValue]) -> None:
    """Put the contents on the surface. A reply keeps its calls, also those that stood in its content."""
    for seq, content in contents.items():
        node = state.find(seq)
        assert node is not None
        changed = attrs.evolve(node, content=content, message=UNSET, units=None)
        state.surface.splice(node.key, node.key, changed)
    state.changes += 1
    state.used_projections |= {event_type}


def _run(handler: Handler, event: Event, context: ProjectionContext) -> Mapping[int, JsonValue]:
    try:
        return handler(event, context)
    except GreenroomError:
        raise
    except Exception as failure:
        raise SurfaceOpError("projection-refused", repr(failure)) from failure


def _checked(state: State, seq: int, content: JsonValue) -> JsonValue:
    node = state.find(seq) if type(seq) is int else None
    if node is None:
        raise SurfaceOpError("projection-refused", f"{seq} is not on the surface")
    copy: JsonValue = orjson.loads(encode(content))
    return copy
