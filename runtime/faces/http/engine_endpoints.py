"""What concerns no single session: finding things, and the models that are known.

Source: design 9, S-180.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from actors.errors.message import MessageFieldError
from actors.ids import SessionIdError
from actors.ports.search import SHORTEST_SEARCH
from runtime.engine.finding import Hits
from runtime.faces.http.call import Call, Endpoint, Reply
from runtime.faces.wire.forms import Field, Form
from runtime.models.catalogue import known_models
from runtime.models.catalogue_card import Card

LARGEST_PAGE: Final = 100


@attrs.frozen
class Models:
    """What is known of models; a model that is not here can be used all the same."""

    models: Sequence[Card]
    problems: Sequence[str]


async def search(call: Call) -> Hits:
    """Find text in what is visible."""
    given = dict(call.query)
    session = given.pop("session_id", None)
    return await call.services.engine.search(session=session, **given)


async def models(call: Call) -> Models:  # noqa: ARG001 - an endpoint
    """Tell what is known of models."""
    known = known_models()
    return Models([known.cards[name] for name in sorted(known.cards)], known.problems)


ENGINE: Final = (
    Endpoint(
        method="GET",
        path="/v1/search",
        handler=search,
        summary="Visible messages that hold a text as it stands, in either case, the last written first.",
        query=Form(
            {
                "text": Field(
                    kind="text", needed=True, about=f"{SHORTEST_SEARCH} characters or more."
                ),
                "sessionId": Field(kind="text", about="Look only at what this session wrote."),
                "before": Field(kind="integer", least=0, about="The next of the page before."),
                "limit": Field(kind="integer", least=1, most=LARGEST_PAGE, about="Left out, 20."),
            }
        ),
        reply=Reply(shape=Hits),
        errors=(MessageFieldError, SessionIdError),
    ),
    Endpoint(
        method="GET",
        path="/v1/models",
        handler=models,
        summary="What is known of models: windows, prices and abilities.",
        reply=Reply(shape=Models),
    ),
)
