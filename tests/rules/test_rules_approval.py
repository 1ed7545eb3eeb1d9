"""The judge of a call, grants, and asks that are settled once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.rules.approval import (
    EXPIRED,
    MODES,
    NOBODY,
    AskState,
    Grants,
    answered,
    beforehand,
    judge,
    outcome,
    sticky_target,
    withdrawn,
)
from actors.rules.policy import Fence, PolicyCall, PolicyTable
from actors.rules.policy_file import parse_policy

NONE = PolicyTable()
READ = PolicyCall(tool="read", effect="read")
WRITE = PolicyCall(tool="write", effect="write", targets=("/ws/a",), workspace="/ws")
SHELL = PolicyCall(tool="bash", command="make")
OPEN = Fence(roots=("/ws",))
WORDS = ["approve", "reject", "cancel", "always", "unavailable"]
SETTLEMENTS = st.sampled_from(
    [answered(word, "a") for word in WORDS]
    + [withdrawn("interrupt"), withdrawn("closed"), withdrawn("recovery"), NOBODY, EXPIRED]
)


def word(call, rows=(), mode="workspace-write", fence=OPEN):
    return judge(call, parse_policy(list(rows)), mode, fence).word


def test_reads_pass_and_everything_else_is_asked_about():
    assert (word(READ), word(WRITE), word(SHELL)) == ("pass", "ask", "ask")


@pytest.mark.parametrize("mode", MODES)
def test_a_deny_blocks_reads_too_in_every_mode(mode):
    assert word(READ, [{"tool": "read", "decision": "deny"}], mode) == "block"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", ["/ws/.git/config", "/ws/.env", "/ws/a/.env.local", "/data/x"])
def test_protected_paths_are_blocked_even_when_allowed(mode, path):
    call = PolicyCall(tool="write", effect="write", targets=("/ws/a", path))
    fence = Fence(roots=("/",), data_roots=("/data",))
    assert word(call, [{"tool": "write", "pattern": "/"}], mode, fence) == "block"


def test_an_allow_passes_with_its_label_and_an_ask_entry_asks_about_reads():
    found = judge(
        WRITE, parse_policy([{"tool": "write", "pattern": "/ws"}]), "workspace-write", OPEN
    )
    assert (found.word, found.reason) == ("pass", "policy-allow:0")
    assert word(READ, [{"tool": "read", "decision": "ask"}]) == "ask"


def test_without_a_fence_read_only_blocks_and_writes_outside_are_asked_about():
    allow = [{"tool": "write", "pattern": "/ws"}]
    assert word(WRITE, allow, "read-only") == "block"
    assert word(SHELL, (), "read-only") == "block"
    outside = PolicyCall(tool="write", effect="write", targets=("/etc/x",))
    assert word(outside) == "ask"


def test_with_a_fence_the_host_refuses_what_the_gate_lets_pass():
    fence = Fence(enforced=True, roots=("/ws",))
    outside = PolicyCall(tool="write", effect="write", targets=("/ws/a", "/etc/x"))
    assert word(outside, (), "workspace-write", fence) == "pass"
    assert word(WRITE, (), "read-only", fence) == "pass"
    assert word(WRITE, (), "workspace-write", fence) == "ask"


@given(st.lists(SETTLEMENTS, min_size=1, max_size=6))
def test_an_ask_is_settled_exactly_once_by_the_first(settlements):
    state, results = AskState(), []
    assert state.word == "pending"
    for settlement in settlements:
        state, result = state.settle(settlement)
        results.append(result)
    assert results == ["applied"] + ["superseded"] * (len(settlements) - 1)
    assert state.settlement == settlements[0]


@given(SETTLEMENTS, st.booleans())
def test_only_a_yes_lets_the_tool_run(settlement, can_remember):
    found = outcome(settlement, can_remember=can_remember)
    assert found.allowed == (settlement.decision in {"approve", "always"})


@pytest.mark.parametrize(
    ("settlement", "word", "decision", "source"),
    [
        (answered("approve"), "allowed-once", "approve", "user"),
        (answered("always"), "allowed-once", "approve", "user"),
        (answered("reject"), "rejected", "reject", "user"),
        (answered("cancel"), "cancelled", "cancel", "user"),
        (answered("unavailable"), "unavailable", "unavailable", "timeout"),
        (NOBODY, "unavailable", "unavailable", "timeout"),
        (EXPIRED, "unavailable", "unavailable", "expired"),
        (withdrawn("interrupt"), "cancelled", "cancel", "interrupt"),
    ],
)
def test_a_settlement_says_what_the_log_keeps(settlement, word, decision, source):
    found = outcome(settlement)
    assert (found.word, found.decision, found.source) == (word, decision, source)
    assert not found.remembers


def test_only_an_always_that_can_be_written_is_remembered():
    assert outcome(answered("always"), can_remember=True).remembers
    assert outcome(answered("always"), can_remember=True).decision == "always"
    assert not outcome(answered("approve"), can_remember=True).remembers


def test_an_expired_ask_is_not_one_that_somebody_refused():
    state, _ = AskState().settle(EXPIRED)
    assert state.word == "expired"
    assert outcome(EXPIRED).word != "rejected"


@pytest.mark.parametrize(
    ("granted", "asked", "source"),
    [
        ("danger", "danger", "sticky"),
        ("danger", "read-only", "subset"),
        ("read-only", "danger", None),
    ],
)
def test_a_grant_covers_its_tier_and_narrower_ones(granted, asked, source):
    grants = Grants().added("t", granted)
    assert grants.covers("t", asked) == source
    assert grants.covers("other", asked) is None


def test_a_narrower_grant_does_not_take_a_wider_one_back():
    grants = Grants().added("t", "danger").added("t", "read-only")
    assert grants.covers("t", "danger") == "sticky"


def test_a_policy_that_never_asks_refuses_but_for_what_was_granted():
    refused = beforehand("never", Grants(), "t", "danger")
    assert (refused.outcome.word, refused.outcome.source, refused.audited) == (
        "rejected",
        "policy-never",
        True,
    )
    granted = beforehand("never", Grants().added("t", "danger"), "t", "danger")
    assert (granted.outcome.allowed, granted.audited) == (True, False)
    assert beforehand("ask", Grants(), "t", "danger") is None


def test_a_grant_is_about_sorted_paths_or_the_tool():
    call = PolicyCall(tool="write", targets=("/b", "/a", "/b"))
    assert sticky_target(call) == "/a\n/b"
    assert sticky_target(SHELL) == "bash"
