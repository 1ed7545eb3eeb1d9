"""The policy table: reading, matching, precedence, writing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.rules import SettingError
from actors.rules.paths import covers, may_hold
from actors.rules.policy import PolicyCall, Targets
from actors.rules.policy_call import policy_call
from actors.rules.policy_file import append_allow, parse_policy
from actors.rules.preset import preset
from actors.session.remembered import suggested_entry

DEPLOY = PolicyCall(tool="deploy")


def write_to(*paths):
    return PolicyCall(tool="write", effect="write", targets=paths, workspace="/ws")


def decision(rows, call, now_ms=0):
    found = parse_policy(rows).match(call, now_ms)
    return None if found is None else found.decision


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("x", "not an object"),
        ({"tool": ""}, "tool"),
        ({"decision": "allow"}, "tool"),
        ({"tool": "t", "who": 1}, "who"),
        ({"tool": "t", "decision": "maybe"}, "decision"),
        ({"tool": "t", "pattern": 1}, "pattern"),
        ({"tool": "t", "effect": "run"}, "effect"),
        ({"tool": "t", "expiresAt": "soon"}, "expiresAt"),
        ({"tool": "t", "expiresAt": True}, "expiresAt"),
        ({"tool": "t", "decision": "deny", "expiresAt": 1}, "expire"),
        ({"tool": "t", "decision": "ask", "expiresAt": 1}, "expire"),
    ],
)
def test_a_row_that_cannot_be_read_is_dropped_with_a_warning(row, complaint):
    table = parse_policy([row, {"tool": "deploy"}])
    assert [entry.index for entry in table.entries] == [1]
    assert complaint in table.warnings[0]


def test_a_file_that_is_no_list_is_malformed_and_matches_nothing():
    table = parse_policy({"rules": []})
    assert table.malformed
    assert table.match(DEPLOY) is None


@pytest.mark.parametrize(
    "row", [{"tool": "bash"}, {"tool": "write"}, {"tool": "bash", "pattern": "a b c"}]
)
def test_a_row_that_can_never_match_is_told(row):
    assert "never matches" in parse_policy([row]).warnings[0]


@given(st.permutations(["deny", "ask", "allow", "allow"]))
def test_deny_beats_ask_beats_allow_in_any_order(decisions):
    rows = [{"tool": "deploy", "decision": word} for word in decisions]
    for expected in ("deny", "ask", "allow"):
        assert decision(rows, DEPLOY) == expected
        rows = [row for row in rows if row["decision"] != expected]
    assert decision(rows, DEPLOY) is None


def test_the_first_live_allow_is_named():
    rows = [{"tool": "deploy", "expiresAt": 5}, {"tool": "deploy"}, {"tool": "deploy"}]
    assert parse_policy(rows).match(DEPLOY, 4).note == "policy-allow:0"
    assert parse_policy(rows).match(DEPLOY, 5).note == "policy-allow:1"


@pytest.mark.parametrize(
    ("word", "limit", "covered"),
    [
        ("allow", "write", {"read", "write"}),
        ("deny", "write", {"write", "exec"}),
        ("ask", "write", {"write", "exec"}),
        ("allow", "read", {"read"}),
    ],
)
def test_an_effect_reaches_down_for_an_allow_and_up_for_the_others(word, limit, covered):
    rows = [{"tool": "t", "decision": word, "effect": limit}]
    found = {e for e in ("read", "write", "exec") if decision(rows, PolicyCall(tool="t", effect=e))}
    assert found == covered


@pytest.mark.parametrize(
    ("pattern", "paths", "allowed"),
    [
        ("src", ["/ws/src/a"], True),
        ("/ws/src/", ["/ws/src"], True),
        ("src/../docs", ["/ws/docs/x"], True),
        ("src", ["/ws/srcs/a"], False),
        ("src", ["/ws/src/a", "/ws/b"], False),
        ("src", [], False),
        ("/", ["/anything"], True),
    ],
)
def test_an_allow_of_a_folder_covers_what_lies_wholly_inside(pattern, paths, allowed):
    assert (
        decision([{"tool": "write", "pattern": pattern}], write_to(*paths)) == "allow"
    ) is allowed


@pytest.mark.parametrize("word", ["deny", "ask"])
def test_one_more_file_does_not_carry_a_call_past_a_deny_or_an_ask(word):
    rows = [
        {"tool": "write", "pattern": "secret", "decision": word},
        {"tool": "write", "pattern": "/"},
    ]
    assert decision(rows, write_to("/ws/a", "/ws/secret/b")) == word
    assert decision(rows, write_to("/ws/a")) == "allow"


def test_calls_inside_an_ask_pattern_are_asked_about_though_the_tool_is_allowed():
    rows = [
        {"tool": "bash", "pattern": "git"},
        {"tool": "bash", "pattern": "git push", "decision": "ask"},
    ]
    for order in (rows, rows[::-1]):
        assert decision(order, PolicyCall(tool="bash", command="git push origin")) == "ask"
        assert decision(order, PolicyCall(tool="bash", command="git push --force")) == "ask"
        assert decision(order, PolicyCall(tool="bash", command="git status")) == "allow"


def test_a_machine_adds_an_allow_once_and_never_to_a_broken_file():
    first = append_allow([], "write", "src", malformed=False)
    assert first.outcome == "appended"
    assert append_allow(first.rows, "write", "src", malformed=False).outcome == "duplicate"
    denied = [{"tool": "write", "pattern": "src", "decision": "deny"}]
    assert append_allow(denied, "write", "src", malformed=False).outcome == "appended"
    assert append_allow([], "write", "src", malformed=True).outcome == "rejected"
    assert append_allow([], "write", " ", malformed=False).outcome == "rejected"


def test_what_a_machine_added_is_read_back_as_an_allow():
    rows = list(append_allow([], "write", "src", malformed=False).rows)
    assert decision(rows, write_to("/ws/src/a")) == "allow"


def test_a_call_is_read_from_its_arguments():
    call = policy_call("edit", "write", {"path": "a/../b", "edits": [{"path": "c"}, "x"]}, "/ws")
    assert call.targets == ("/ws/b", "/ws/c", "/ws/x")
    assert policy_call("bash", None, {"command": "ls"}).command == "ls"
    assert policy_call("bash", None, "not json").effect == "exec"


def test_presets_open_reads_of_git_and_the_root_only_when_asked_to():
    assert [preset(name).mode for name in ("conservative", "balanced")] == [
        "read-only",
        "workspace-write",
    ]
    assert preset("balanced").entries == ()
    rows = list(preset("open", "/ws").entries)
    assert decision(rows, write_to("/ws/a")) == "allow"
    assert decision(rows, PolicyCall(tool="bash", command="git log")) == "allow"
    assert decision(rows, PolicyCall(tool="bash", command="git push")) is None
    with pytest.raises(SettingError):
        preset("wide")


@pytest.mark.parametrize("named", ["bash", "shell", "shell_start"])
@pytest.mark.parametrize("called", ["bash", "shell", "shell_start"])
def test_a_row_about_one_shell_tool_is_about_all(named, called):
    rows = [{"tool": named, "pattern": "rm", "decision": "deny"}]
    assert decision(rows, policy_call(called, "exec", {"command": "sudo rm -rf /"})) == "deny"
    assert decision(rows, policy_call(called, "exec", {"command": "ls"})) is None


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("**/*.pem", "/ws/a/b/key.pem", True),
        ("**/*.pem", "/ws/key.pem", True),
        ("**/*.pem", "/ws/key.pem.txt", False),
        ("secret?", "/ws/secret1/deep/file", True),
        ("secret?", "/ws/secret/file", False),
        ("*.txt", "/ws/a/b.txt", False),
        ("/etc/**", "/etc/a/b", True),
        ("a.c", "/ws/abc", False),
        ("*", "/elsewhere", False),
    ],
)
def test_a_glob_covers_what_it_names_and_what_lies_below(pattern, path, covered):
    rows = [{"tool": "write", "pattern": pattern, "decision": "deny"}]
    assert (decision(rows, write_to(path)) == "deny") is covered


@pytest.mark.parametrize("pattern", ["secrets", "/ws/secrets", "secrets/*.pem", "secrets/a/b"])
@pytest.mark.parametrize(
    ("looks", "denied"),
    [
        (Targets(trees=("/ws",)), True),
        (Targets(trees=("/ws/secrets",)), True),
        (Targets(trees=("/ws/other",)), False),
        (Targets(reads=("/ws",)), False),
        (Targets(reads=("/ws/other/x",)), False),
    ],
)
def test_a_deny_covers_a_search_that_may_come_by(pattern, looks, denied):
    rows = [{"tool": "search", "pattern": pattern, "decision": "deny"}]
    call = policy_call("search", "read", {}, "/ws", looks)
    assert (decision(rows, call) == "deny") is denied


def test_a_read_is_denied_by_its_path_and_allowed_only_inside():
    def read(path):
        return policy_call("read", "read", {}, "/ws", Targets(reads=(path,)))

    rows = [{"tool": "read", "pattern": "a", "decision": "deny"}]
    assert decision(rows, read("/ws/a/x")) == "deny"
    assert decision(rows, read("/ws/b")) is None
    assert decision([{"tool": "read", "decision": "deny"}], read("/ws/b")) == "deny"
    assert decision([{"tool": "read", "pattern": "a"}], read("/ws/b")) is None


@pytest.mark.parametrize(
    ("word", "targets", "found"),
    [
        ("allow", None, "allow"),
        ("deny", None, "deny"),
        ("allow", Targets(), None),
        ("deny", Targets(), None),
        ("allow", Targets(writes=("/ws/a",)), "allow"),
        ("allow", Targets(writes=("/ws/a",), reads=("/ws/b",)), None),
        ("deny", Targets(writes=("/ws/b",), reads=("/ws/a/x",)), "deny"),
    ],
)
def test_a_row_with_a_path_goes_by_the_name_only_when_a_tool_cannot_say_its_paths(
    word, targets, found
):
    rows = [{"tool": "rename", "pattern": "a", "decision": word}]
    assert decision(rows, policy_call("rename", "write", {}, "/ws", targets)) == found


names = st.lists(st.sampled_from(["a", "b", "*", "**", "?x"]), min_size=1, max_size=4)


@given(names, st.lists(st.sampled_from(["a", "b", "cx"]), max_size=4), st.data())
def test_whatever_a_pattern_covers_is_expected_below_each_folder_above_it(pattern, path, data):
    glob, target = "/".join(pattern), "/" + "/".join(["ws", *path])
    folder = "/" + "/".join(["ws", *path[: data.draw(st.integers(0, len(path)))]])
    if covers(glob, target, "/ws"):
        assert may_hold(glob, folder, "/ws")


@pytest.mark.parametrize(("path", "suggested"), [("/ws/a", "/ws/a"), ("/ws/*", None)])
def test_an_always_never_allows_more_than_was_asked_about(path, suggested):
    entry = suggested_entry(write_to(path))
    assert (entry and entry["pattern"]) == suggested
