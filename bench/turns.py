"""The conversation that the bench plays, into a log or into a bare list."""

from actors.json import JsonObject
from actors.log.events import Draft
from actors.log.log import Log

EVENTS_PER_TURN = 6


def long_log(events: int) -> Log:
    """Return a log of about that many events."""
    log = Log()
    play(log, 0, max(1, events // EVENTS_PER_TURN))
    log.projection()
    return log


def turn_data(number: int) -> tuple[tuple[str, JsonObject], ...]:
    """Return the events of one turn, as words and data."""
    call = f"call-{number}"
    return (
        ("user/message", {"content": f"question {number}: " + "x" * 80, "id": f"m{number}"}),
        ("turn/start", {"turn": number + 1}),
        (
            "assistant/message",
            {
                "content": [{"type": "text", "text": "an answer " + "y" * 100}],
                "usage": {"input": 1200, "output": 80, "cacheRead": 900, "cacheWrite": 0},
                "stopReason": "toolUse",
                "turn": number + 1,
                "step": 1,
            },
        ),
        (
            "tool/call",
            {"toolCallId": call, "name": "bash", "arguments": "{}", "turn": number + 1, "step": 1},
        ),
        (
            "tool/result",
            {"toolCallId": call, "content": "ok " * 20, "turn": number + 1, "step": 1},
        ),
        ("turn/end", {"turn": number + 1, "reason": "completed"}),
    )


def play(log: Log, first: int, turns: int) -> None:
    """Append turns, each in the three batches in which the session actor commits it."""
    for number in range(first, first + turns):
        events = turn_data(number)
        for at in range(0, len(events), 2):
            log.append(*[Draft(word, data) for word, data in events[at : at + 2]], time_ms=number)


def play_bare(log: list[JsonObject], first: int, turns: int) -> None:
    """Append the same turns to a list of dicts."""
    for number in range(first, first + turns):
        for word, data in turn_data(number):
            log.append({"seq": len(log), "time": number, "type": word, "data": data})
