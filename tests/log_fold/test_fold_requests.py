"""What a request shows: the same whatever was kept from earlier requests, and every call with its result."""

import time
from itertools import pairwise

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.log.events import Draft
from actors.log.log import Log
from actors.log.projection import (
    AssistantMessage,
    Messages,
    Part,
    ProjectedCall,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from actors.log.request import request_messages
from tests.log_fold.histories import Player, plays

MANY = settings(max_examples=500, deadline=None)


def plain_request(messages):
    """The same in the plainest words: one walk, each reply with the results that belong to it."""
    groups = []
    for message in messages:
        if not isinstance(message, ToolResultMessage):
            groups.append((message, {}))
            continue
        for said, results in reversed(groups):
            calls = getattr(said, "tool_calls", ())
            free = [
                at
                for at, call in enumerate(calls)
                if call.tool_call_id == message.tool_call_id and at not in results
            ]
            if free:
                results[free[-1]] = message
                break
    shown = []
    for said, results in groups:
        reply = said
        if isinstance(said, AssistantMessage):
            kept = [call for at, call in enumerate(said.tool_calls) if at in results]
            reply = attrs.evolve(said, tool_calls=tuple(kept), content=without(said, kept))
            if not kept and not reply.content:
                continue
        elif isinstance(said, SystemMessage) and not said.content:
            continue
        shown += [reply, *results.values()]
    return shown


def without(reply, kept):
    """The content of a reply without the blocks of calls that were never answered."""
    gone = {call.tool_call_id for call in reply.tool_calls if call.inline}
    gone -= {call.tool_call_id for call in kept}
    if not isinstance(reply.content, list):
        return reply.content
    return [block for block in reply.content if block.get("id") not in gone]


names = st.sampled_from(["a", "b", "c"])
called = st.builds(ProjectedCall, names, st.just("read"), st.just("{}"), st.booleans())


@st.composite
def replies(draw):
    calls = tuple(draw(st.lists(called, max_size=3)))
    blocks = [{"type": "tool-call", "id": call.tool_call_id} for call in calls if call.inline]
    text = [{"type": "text", "text": "x"}] if draw(st.booleans()) else []
    return AssistantMessage(0, [*text, *blocks], calls)


said = st.one_of(
    replies(),
    st.builds(ToolResultMessage, st.just(0), names, st.just("read"), st.text(max_size=2)),
    st.builds(UserMessage, st.just(0), st.text(max_size=2)),
    st.builds(SystemMessage, st.just(0), st.text(max_size=1)),
)


@MANY
@given(st.lists(said, max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_the_parts_in_which_messages_are_kept_make_no_difference(messages, cuts):
    places = [0, *sorted(min(cut, len(messages)) for cut in cuts), len(messages)]
    parts = [Part(messages[start:stop]) for start, stop in pairwise(places)]
    wanted = plain_request(messages)
    assert list(request_messages(messages)) == wanted
    for count in range(len(parts) + 1):
        seen = [message for part in parts[:count] for message in part.messages]
        assert list(request_messages(Messages(tuple(parts[:count])))) == plain_request(seen)
    assert list(request_messages(Messages(tuple(parts)))) == wanted


@MANY
@given(st.lists(said, max_size=12))
def test_whatever_was_logged_each_call_is_followed_by_its_results_and_by_no_other(messages):
    assert_provider_accepts(request_messages(messages))


def assert_provider_accepts(messages):
    waiting = []
    for message in messages:
        if isinstance(message, ToolResultMessage):
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting
        waiting = [call.tool_call_id for call in getattr(message, "tool_calls", ())]
    assert not waiting


@MANY
@given(plays)
def test_no_history_that_the_gates_accept_makes_a_request_with_half_a_pair(moves):
    player = Player()
    for move in moves:
        if player.play(move):
            messages = player.log.projection().messages
            shown = request_messages(messages)
            assert list(shown) == plain_request(list(messages))
            assert_provider_accepts(shown)


def long_log(turns):
    log = Log()
    for turn in range(turns):
        name = f"c{turn}"
        log.append(
            Draft("user/message", {"content": "go on", "source": "user"}),
            Draft("turn/start", {"turn": turn + 1}),
            Draft("assistant/message", {"content": [{"type": "text", "text": "well"}]}),
            Draft("tool/call", {"toolCallId": name, "name": "read", "arguments": "{}"}),
            Draft("tool/result", {"toolCallId": name, "content": "text"}),
            Draft("turn/end", {"turn": turn + 1, "reason": "completed"}),
            time_ms=turn,
        )
    return log


def test_a_later_request_shares_what_an_earlier_one_made():
    log = long_log(300)
    first = request_messages(log.projection().messages)
    log.append(Draft("user/message", {"content": "more"}), time_ms=1)
    second = request_messages(log.projection().messages)
    same = [one is other for one, other in zip(first.parts, second.parts, strict=False)]
    assert len(same) > 5
    assert all(same[:-1])


def request_seconds(log):
    """Return the best of several times, each after an append."""
    best = 1.0
    for _ in range(60):
        log.append(Draft("user/message", {"content": "more"}), time_ms=1)
        start = time.perf_counter()
        request_messages(log.projection().messages)
        best = min(best, time.perf_counter() - start)
    return best


def test_the_request_of_a_long_session_costs_little_more_than_that_of_a_short_one():
    short, long = long_log(225), long_log(6030)  # tails of the same length
    for log in (short, long):
        request_messages(log.projection().messages)
    assert request_seconds(long) < 6 * request_seconds(short)


def test_a_result_that_came_late_stands_behind_its_call():
    call = ProjectedCall("a", "read", "{}")
    reply, between = AssistantMessage(1, "text", (call,)), UserMessage(2, "hurry")
    result = ToolResultMessage(3, "a", "read", "out")
    assert list(request_messages([reply, between, result])) == [reply, result, between]
    parts = [Part([reply, between]), Part([result])]
    assert list(request_messages(Messages(tuple(parts)))) == [reply, result, between]


def test_an_id_that_was_used_again_names_two_calls():
    call = ProjectedCall("a", "read", "{}")
    answered, open_reply = AssistantMessage(1, "one", (call,)), AssistantMessage(3, "two", (call,))
    result = ToolResultMessage(2, "a", "read", "out")
    shown = list(request_messages([answered, result, open_reply]))
    assert shown == [answered, result, attrs.evolve(open_reply, tool_calls=())]
    assert list(request_messages([result, open_reply])) == [attrs.evolve(open_reply, tool_calls=())]


def test_a_call_without_a_result_leaves_the_content_of_its_reply_too():
    block = {"type": "tool-call", "id": "a", "name": "read"}
    text = {"type": "text", "text": "let me look"}
    call = ProjectedCall("a", "read", "{}", inline=True)
    (shown,) = request_messages([AssistantMessage(1, [text, block], (call,))])
    assert shown == AssistantMessage(1, [text], ())
    assert not list(request_messages([AssistantMessage(1, [block], (call,))]))
