"""The verbs on what waits in a session.

Source: design 9, K-8.
"""

from typing import Final, get_args

from actors.errors.input import ContentError, InputTakenError
from actors.errors.log import EventDataError, OverBudgetError
from actors.log.inbox import ListName
from actors.session.answers import WaitingInputs
from runtime.faces.http.call import NO_FIELDS, Call, Endpoint, Reply
from runtime.faces.http.session_endpoints import LIVE, PATH, session_of
from runtime.faces.wire.forms import Field, Form

MESSAGE: Final = Field(kind="text", needed=True, about="The messageId of an input that waits.")


async def waiting(call: Call) -> WaitingInputs:
    """List what waits."""
    return await session_of(call).queue.list()


async def edit(call: Call) -> None:
    """Give a waiting input another content."""
    await session_of(call).queue.edit(**call.body)


async def move(call: Call) -> None:
    """Put a waiting input elsewhere."""
    await session_of(call).queue.move(**call.body)


async def withdraw(call: Call) -> None:
    """Take a waiting input back."""
    await session_of(call).queue.withdraw(**call.body)


async def hold(call: Call) -> None:
    """Let nothing be taken."""
    await session_of(call).queue.hold()


async def release(call: Call) -> None:
    """Let what waits be taken again."""
    await session_of(call).queue.release()


QUEUE: Final = (
    Endpoint(
        method="GET",
        path=f"{PATH}/queue",
        handler=waiting,
        summary="What waits for the next step or turn, in the order in which it will be taken.",
        reply=Reply(shape=WaitingInputs),
        errors=LIVE,
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/queue/edit",
        handler=edit,
        summary="Give a waiting input another content.",
        body=Form({"messageId": MESSAGE, "content": Field(kind="content", needed=True)}),
        errors=(*LIVE, InputTakenError, ContentError, EventDataError, OverBudgetError),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/queue/move",
        handler=move,
        summary="Put a waiting input at a position of one of the two lists.",
        body=Form(
            {
                "messageId": MESSAGE,
                "to": Field(kind="text", needed=True, choices=get_args(ListName)),
                "position": Field(kind="integer", about="-1 is before the last; left out, first."),
            }
        ),
        errors=(*LIVE, InputTakenError),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/queue/withdraw",
        handler=withdraw,
        summary="Take a waiting input back; it will never run.",
        body=Form({"messageId": MESSAGE}),
        errors=(*LIVE, InputTakenError),
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/queue/hold",
        handler=hold,
        summary="Let nothing be taken until it is released, also over restarts.",
        body=NO_FIELDS,
        errors=LIVE,
    ),
    Endpoint(
        method="POST",
        path=f"{PATH}/queue/release",
        handler=release,
        summary="Undo the hold; an idle session starts a turn when something waits.",
        body=NO_FIELDS,
        errors=LIVE,
    ),
)
