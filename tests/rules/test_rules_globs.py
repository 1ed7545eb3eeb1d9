"""Glob patterns of paths, against a slow model of them."""

from hypothesis import given
from hypothesis import strategies as st

from actors.rules.globs import matches, name_matches, reached
from actors.rules.paths import covers, may_hold


def slowly(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return slowly(pattern[1:], name) or (bool(name) and slowly(pattern, name[1:]))
    return bool(name) and pattern[0] in {"?", name[0]} and slowly(pattern[1:], name[1:])


def slowly_path(patterns: list[str], names: list[str]) -> bool:
    if not patterns:
        return not names
    if patterns[0] == "**":
        return slowly_path(patterns[1:], names) or (
            bool(names) and slowly_path(patterns, names[1:])
        )
    return bool(names) and slowly(patterns[0], names[0]) and slowly_path(patterns[1:], names[1:])


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=8))
def test_a_name_matches_as_in_the_model(pattern, name):
    assert name_matches(pattern, name) is slowly(pattern, name)


part = st.sampled_from(["a", "b*", "?", "*", "**"])
name = st.sampled_from(["a", "b", "bc"])


@given(st.lists(part, min_size=1, max_size=5), st.lists(name, min_size=1, max_size=5))
def test_a_path_matches_as_in_the_model(patterns, names):
    assert matches("/".join(patterns), "/".join(names)) is slowly_path(patterns, names)
    stops = range(len(names) + 1)
    assert reached(patterns, names) == {n for n in stops if slowly_path(patterns, names[:n])}


def test_no_pattern_takes_for_ever():
    assert not name_matches("*a" * 100 + "b", "a" * 250)
    assert not matches("/".join(["**", "a"] * 60) + "/b", "/".join(["a"] * 200))


def test_a_workspace_whose_name_looks_like_a_pattern_is_no_pattern():
    assert covers("*.pem", "/ws*/key.pem", "/ws*")
    assert not covers("*.pem", "/wsx/key.pem", "/ws*")
    assert may_hold("a/*", "/ws*/a", "/ws*")
    assert not may_hold("a/*", "/wsx", "/ws*")
    assert covers("../*/x", "/other/x", "/ws*")
