"""What a model may see: the cache, empty messages, message projections, sizes, memory."""

import gc
import tracemalloc

import pytest

from actors.errors.log import EventTypeConflictError, SurfaceOpError
from actors.log.events import Draft, Event
from actors.log.json_text import json_units
from actors.log.log import Log
from actors.log.message_projections import Projections
from actors.log.project import event_message, message_to_wire
from actors.log.vocabulary import Vocabulary
from tests.log_fold.scripts import (
    TURN,
    call,
    end,
    hide,
    log_of,
    reply,
    result,
    start,
    summary,
    system,
    user,
)


def test_messages_have_the_fields_of_their_events():
    log = log_of(
        system("s"),
        user("u", source="channel:x"),
        start(),
        reply("a", usage={"input": 1}, stopReason="toolUse"),
        call("c", arguments='{"p":1}'),
        result("c", "r", error={"name": "E", "code": "X"}),
    )
    assert [message_to_wire(message) for message in log.projection().messages] == [
        {"type": "system", "seq": 0, "content": "s"},
        {"type": "user", "seq": 1, "content": "u", "source": "channel:x"},
        {
            "type": "assistant",
            "seq": 3,
            "content": "a",
            "toolCalls": [
                {"type": "toolCall", "toolCallId": "c", "toolName": "read", "arguments": '{"p":1}'}
            ],
            "usage": {"input": 1},
            "stopReason": "toolUse",
        },
        {
            "type": "toolResult",
            "seq": 5,
            "toolCallId": "c",
            "toolName": "read",
            "arguments": '{"p":1}',
            "output": "r",
            "isError": True,
        },
    ]


@pytest.mark.parametrize("value", [None, False, "text", 0])
def test_only_true_or_an_object_is_an_error(value):
    log = log_of(reply(), call("c"), result("c", error=value))
    assert log.projection().messages[-1].is_error is False


def test_an_empty_prompt_has_no_message_but_keeps_its_place():
    log = log_of(system(""), user("a"), system("later"))
    assert log.fold.nodes == (0, 1, 2)
    assert [message.seq for message in log.projection().messages] == [1, 2]
    assert log.fold.system_head == 0


def test_a_shadowed_event_still_has_a_message_when_it_is_asked_alone():
    log = log_of(user("a"), summary(0, 0, (0,)))
    assert event_message(log.event(0)).content == "a"
    assert event_message(Event(9, 0, "turn/end", b"{}")) is None


def test_a_projection_shares_its_messages_with_the_next_one_and_does_not_grow():
    log = log_of(*TURN)
    first = log.projection()
    log.append(user("more"), time_ms=0)
    second = log.projection()
    assert (len(first.messages), len(second.messages)) == (3, 4)
    assert all(one is other for one, other in zip(first.messages, second.messages, strict=False))
    assert (first.next_seq, second.next_seq) == (6, 7)


def test_messages_answer_like_a_tuple_over_many_pieces():
    log = log_of(*[user(str(number)) for number in range(700)])
    messages = log.projection().messages
    assert len(messages) == 700
    assert [message.content for message in messages] == [str(number) for number in range(700)]
    assert (messages[0].content, messages[-1].content, messages[300].content) == ("0", "699", "300")
    assert [message.content for message in messages[298:301]] == ["298", "299", "300"]
    with pytest.raises(IndexError):
        messages[700]


def test_the_size_counts_the_whole_projection():
    log = log_of(*TURN, user("\U0001f600"), reply("open"))
    wires = [message_to_wire(message) for message in log.projection().messages]
    assert log.fold.projected_units == sum(map(json_units, wires))
    assert log.fold.units(7) == json_units(wires[-1])
    log.append(hide(0, 5), time_ms=0)
    assert log.fold.projected_units == sum(map(json_units, wires[-2:]))
    assert log.fold.units(0) == 0


# --- message projections ----------------------------------------------------------------------------

WORD = "x/redact"


def redact(event, context):
    data = event.data()
    for seq in data["targets"]:
        if not context.is_node(seq):
            raise ValueError(seq)
    return {seq: data.get("content", "gone") for seq in data["targets"]}


def redacting(*drafts):
    vocabulary, handlers = Vocabulary(), Projections()
    vocabulary.register(WORD, owner="x", projection=True)
    dispose = handlers.register(WORD, redact, owner="x")
    log = Log(vocabulary, projections=handlers)
    for draft in drafts:
        log.append(draft, time_ms=0)
    return log, handlers, dispose


def redaction(*targets, **more):
    return Draft(WORD, {"targets": list(targets), **more})


def contents(log):
    return [message.content for message in log.projection().messages]


def test_a_projection_changes_content_and_nothing_else():
    log, *_ = redacting(user("a"), user("b"))
    before = log.projection()
    log.append(redaction(0), time_ms=0)
    assert contents(log) == ["gone", "b"]
    assert [message.content for message in before.messages] == ["a", "b"]
    assert log.fold.nodes == (0, 1)
    assert (log.fold.replace_generation, log.fold.content_generation) == (0, 1)
    assert log.fold.projected() == (0,)
    assert log.event(0).data() == {"content": "a"}


def test_a_later_projection_sees_what_an_earlier_one_left():
    seen = []

    def look(event, context):
        seen.append(context.content(0))
        return redact(event, context)

    vocabulary, handlers = Vocabulary(), Projections()
    vocabulary.register(WORD, owner="x", projection=True)
    handlers.register(WORD, look, owner="x")
    log = Log(vocabulary, projections=handlers)
    log.append(user("a"), redaction(0), redaction(0, content="twice"), time_ms=0)
    assert seen == ["a", "gone"]
    assert contents(log) == ["twice"]


@pytest.mark.parametrize("bad", [redaction(9), redaction(0, 9), Draft(WORD, {})])
def test_a_projection_that_fails_is_refused_whole(bad):
    log, *_ = redacting(user("a"))
    with pytest.raises(SurfaceOpError, match="projection-refused"):
        log.append(bad, time_ms=0)
    assert (contents(log), len(log)) == (["a"], 1)


def test_a_projection_may_not_touch_what_is_no_node():
    log, handlers, dispose = redacting(user("a"))
    dispose()
    dispose()
    handlers.register(WORD, lambda _event, _context: {5: "x"}, owner="y")
    with pytest.raises(SurfaceOpError, match="projection-refused"):
        log.append(redaction(), time_ms=0)


def test_a_replacement_has_its_own_content_again_and_a_rewrite_compares_with_the_log():
    log, *_ = redacting(user("a"), redaction(0), summary(0, 0, (0,)))
    assert contents(log) == ["summary"]
    assert log.fold.projected() == ()


def test_a_declared_projection_without_its_handler_is_refused_everywhere():
    log, _, dispose = redacting(user("a"), redaction(0))
    dispose()
    for use in (
        lambda: log.append(redaction(0), time_ms=0),
        log.projection,
        lambda: log.fold.projected_units,
        lambda: log.fork(2).projection(),
        lambda: log.fork(1).append(redaction(0), time_ms=0),
    ):
        with pytest.raises(SurfaceOpError, match="projection-missing"):
            use()


def test_a_session_that_never_used_the_projection_goes_on_without_its_handler():
    log, _, dispose = redacting(user("a"))
    dispose()
    assert contents(log) == ["a"]


def test_a_type_has_one_handler():
    _, handlers, _ = redacting()
    with pytest.raises(EventTypeConflictError):
        handlers.register(WORD, redact, owner="z")


# --- bounds -----------------------------------------------------------------------------------------


def session_of_sixty_events() -> Log:
    log = log_of(system("you are helpful"))
    for number in range(10):
        name = f"call-{number}"
        log.append(user(f"question {number}", id=f"m{number}"), start(number + 1), time_ms=number)
        log.append(
            reply("an answer of some words", stopReason="toolUse"), call(name), time_ms=number
        )
        log.append(result(name, "the output of a tool"), end(), time_ms=number)
    return log


def test_a_session_of_sixty_events_needs_well_under_thirty_kilobytes():
    session_of_sixty_events()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    kept = [session_of_sixty_events() for _ in range(50)]
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept[0]) == 61
    assert (after - before) / len(kept) < 25_000


def test_what_a_large_hide_took_is_freed_little_by_little():
    log = log_of(*[user(str(number)) for number in range(1500)])
    log.projection()
    log.append(hide(0, 1499), time_ms=0)
    gone = len(log._held.state.surface._gone)
    assert gone > 5
    for _ in range(gone):
        log.append(user("next"), time_ms=0)
    assert not log._held.state.surface._gone
    assert len(log.fold.nodes) == gone
