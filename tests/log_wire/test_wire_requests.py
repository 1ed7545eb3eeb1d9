"""Request headers and contexts, session headers, sources, roles, notices, work."""

import pytest

from actors.errors.log import (
    ImportFormatError,
    RequestHeaderError,
    RoleExistsError,
    RoleInvalidError,
)
from actors.log.codec import encode
from actors.log.consumed_work import ConsumedWork, consumed_work
from actors.log.events import Event
from actors.log.inbox import Inbox
from actors.log.notices import Notice, notices
from actors.log.request_context import RequestContext, context_change
from actors.log.request_header import (
    HeaderSnapshot,
    canonical,
    check_header,
    check_header_event,
    fold_header,
    header_snapshot,
    headers_equal,
)
from actors.log.roles import MessageRoles
from actors.log.sources import parse_source
from runtime.formats.dsh_header import check_session_header

CONFIG = {"provider": "p", "model": "m"}
HEADER = {"config": CONFIG}
TOOL = {"name": "a", "description": "d", "parameters": {"type": "object"}}


def test_a_writer_brings_a_header_into_its_one_form():
    built = {
        "system": "s",
        "tools": [],
        "adapterDefaults": {"maxTokens": True, "reasoningEffort": True, "x": True},
        "config": {**CONFIG, "maxTokens": 5, "stop": []},
    }
    made = canonical(built)
    assert made == {
        "config": {**CONFIG, "maxTokens": 5, "stop": []},
        "adapterDefaults": {"maxTokens": True},
    }
    assert check_header(made) is made
    assert canonical(made) == made


@pytest.mark.parametrize(
    ("header", "rule"),
    [
        (None, "header-noncanonical"),
        ({**HEADER, "system": None}, "header-noncanonical"),
        ({**HEADER, "tools": []}, "header-noncanonical"),
        ({**HEADER, "adapterDefaults": {}}, "header-noncanonical"),
        ({}, "header-config"),
        ({"config": {"provider": "p"}}, "header-config"),
        ({"config": {**CONFIG, "model": ""}}, "header-config"),
        ({"config": {**CONFIG, "stop": "x"}}, "header-config"),
        ({"config": {**CONFIG, "temperature": True}}, "header-config"),
        ({"config": {**CONFIG, "reasoningEffort": ""}}, "header-effort"),
        ({**HEADER, "adapterDefaults": {"maxTokens": True}}, "header-adapter-defaults"),
        (
            {"config": {**CONFIG, "maxTokens": 1}, "adapterDefaults": {"maxTokens": False}},
            "header-adapter-defaults",
        ),
    ],
)
def test_a_header_of_another_form_is_refused_not_repaired(header, rule):
    with pytest.raises(RequestHeaderError) as refusal:
        check_header_event("request/header", {"header": header, "reason": "initial"})
    assert refusal.value.rule == rule


def test_what_older_logs_had_is_refused():
    with pytest.raises(RequestHeaderError, match="legacy-header-delta"):
        check_header_event("request/header-delta", {})
    with pytest.raises(RequestHeaderError, match="legacy-header-fallback"):
        check_header_event("request/header", {"header": HEADER, "reason": "fallback"})
    check_header_event("user/message", None)


def test_headers_are_equal_when_they_lead_to_the_same_bytes():
    turned = {"description": "d", "name": "a", "parameters": {"type": "object"}}
    assert headers_equal({"config": {**CONFIG, "n": 1}}, {"config": {**CONFIG, "n": 1.0}})
    assert headers_equal(HEADER | {"tools": [TOOL]}, HEADER | {"tools": [dict(TOOL)]})
    assert not headers_equal(HEADER | {"tools": [TOOL]}, HEADER | {"tools": [turned]})
    assert not headers_equal(HEADER, {"config": {**CONFIG, "stop": []}})
    assert not headers_equal(HEADER, {"config": {**CONFIG, "extra": 1}})
    assert not headers_equal({"config": {**CONFIG, "n": 1}}, {"config": {**CONFIG, "n": True}})


def test_a_header_is_logged_when_it_says_something_new():
    other = {"config": {**CONFIG, "model": "m2"}}

    def reason(baseline, header, **facts):
        return header_snapshot(baseline, header, **{"first_request": False, **facts})

    assert reason(None, HEADER, first_request=True) == HeaderSnapshot("initial")
    assert reason(HEADER, HEADER, first_request=True) == HeaderSnapshot("resume")
    assert reason(HEADER, HEADER) is None
    assert reason(HEADER, other) == HeaderSnapshot("change")
    assert reason(HEADER, other, starts_series=True) == HeaderSnapshot("change", True)
    assert reason(HEADER, HEADER, follows_replacement=True) == HeaderSnapshot("series")
    assert HeaderSnapshot("change", True).data(other) == {
        "header": other,
        "reason": "change",
        "startsSeries": True,
    }


def event(seq, word, **data):
    return Event(seq, 0, word, encode(data))


def test_the_last_header_is_in_force():
    later = {"config": {**CONFIG, "model": "m2"}, "tools": []}
    events = [
        event(0, "request/header", header=HEADER, reason="initial"),
        event(1, "user/message", content="x"),
        event(2, "request/header", header=later, reason="change"),
    ]
    assert fold_header(events) == {"config": later["config"]}
    assert fold_header(events[:2]) == HEADER
    assert fold_header(events[1:2], HEADER) is HEADER
    assert fold_header([]) is None


def test_a_context_is_logged_only_when_it_differs_and_absence_clears():
    wide = RequestContext("p", "m", context_window=100)
    logged = context_change(None, wide)
    assert logged == {"provider": "p", "model": "m", "contextWindow": 100}
    assert context_change(logged, wide) is None
    narrow = RequestContext("p", "m", system_prompt_update="in-history")
    assert context_change(logged, narrow) == {
        "provider": "p",
        "model": "m",
        "systemPromptUpdate": "in-history",
    }


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"version": 5}, "header-version"),
        ({"version": True}, "header-version"),
        ({"id": "other"}, "header-id"),
        ({"createdAt": -1}, "header-created-at"),
        ({"createdAt": 1.5}, "header-created-at"),
        ({"cwd": 1}, "header-cwd"),
        ({"cwd": "a/b"}, "header-cwd-relative"),
        ({"parentSession": 1}, "header-parent"),
        ({"isSeeded": 1}, "header-seeded"),
        ({"origin": "user"}, "header-origin"),
        ({"delegationDepth": True}, "header-depth"),
        ({"agentPreset": None}, "header-preset"),
    ],
)
def test_a_session_header_is_checked_field_by_field(change, rule):
    header = {"version": 1, "id": "s", "createdAt": 5, **change}
    with pytest.raises(ImportFormatError) as refusal:
        check_session_header(header, session_id="s", version=1)
    assert refusal.value.rule == rule


def test_a_session_header_may_hold_more_and_have_no_depth():
    header = {"version": 1, "id": "s", "createdAt": 0, "cwd": "C:\\work", "extra": 1}
    check_session_header(header, session_id="s", version=1)


@pytest.mark.parametrize(
    ("raw", "kind", "as_user"),
    [
        ("user", "user", True),
        ("channel:tg", "channel", True),
        ("plugin:", "plugin", False),
        ("session:1", "session", False),
        ("compaction", "compaction", False),
        ("constructor", "user", True),
        ("__class__", "user", True),
        ("other:x", "user", True),
    ],
)
def test_a_source_says_who_speaks(raw, kind, as_user):
    source = parse_source(raw)
    assert (source.kind, source.raw, source.treated_as_user) == (kind, raw, as_user)


def test_roles_are_taken_once_and_given_back_by_their_owner_only():
    roles = MessageRoles()
    dispose = roles.register("memory/recall")
    with pytest.raises(RoleExistsError):
        roles.register("memory/recall")
    with pytest.raises(RoleExistsError):
        roles.register("user")
    with pytest.raises(RoleInvalidError):
        roles.register("memory/recall\n")
    dispose()
    roles.register("memory/recall")
    dispose()
    assert roles.registered() == ("memory/recall",)


def test_watchers_hear_what_left_before_what_came():
    a, b, c = ({"id": name, "content": name} for name in "abc")
    before = Inbox(next_turn=(a, b))
    replaced = before.splice("next-turn", 0, 1, (c,))
    assert notices(before, replaced) == (Notice("discarded", a), Notice("inserted", c))
    (claim,) = before.claim(steps=0, turns=1)
    assert notices(before, claim, turn=7) == (Notice("claimed", a, 7),)


def test_work_counts_when_a_turn_ran_or_lost_its_input():
    queued = event(0, "agent/inbox/spliced", target="next-turn", start=0, inserted=[{"id": "a"}])
    claim = event(
        2, "agent/inbox/spliced", target="next-turn", start=0, removedCount=1, inserted=[]
    )
    dropped = event(
        4,
        "agent/inbox/spliced",
        target="next-turn",
        start=0,
        removedCount=1,
        inserted=[],
        outcome="canceled",
    )
    start = event(1, "turn/start", turn=1)
    assert (
        consumed_work([queued, start, claim, event(3, "turn/end", reason="aborted")]).end_seq == 3
    )
    assert consumed_work([queued, start, claim, event(3, "turn/end", reason="completed")]) == (
        ConsumedWork()
    )
    answered = [start, event(2, "assistant/message", content=[]), event(3, "turn/end", reason="x")]
    assert consumed_work([*answered, dropped]) == ConsumedWork(3, dropped_unrun=True)
    assert consumed_work([dropped, *answered]) == ConsumedWork(3)
    replaced = event(
        4,
        "agent/inbox/spliced",
        target="next-turn",
        start=0,
        removedCount=1,
        inserted=[{"id": "b"}],
        outcome="canceled",
    )
    assert consumed_work([*answered, replaced]) == ConsumedWork(3)
