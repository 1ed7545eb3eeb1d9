"""Routes of extensions: which paths they may have, and which of them a request means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.faces.http.patterns import (
    OpenAuth,
    RouteError,
    RouteSpec,
    find_route,
    match_path,
    plugin_route,
    route_fault,
)


def get(path: str, **more) -> RouteSpec:
    return RouteSpec(method="GET", path=path, **more)


@pytest.mark.parametrize(
    "path", ["", "x", "/", "//", "/x/", "/v1", "/v1/x", "/:", "/a:b", "/x*", "/*/x", "**"]
)
def test_a_malformed_or_reserved_path_is_refused(path):
    assert route_fault(get(path), []) == "SDK_ROUTE_PATH_RESERVED"


@given(st.lists(st.text("ab", min_size=1), min_size=1))
def test_a_plain_path_matches_itself_alone(segments):
    path = "/" + "/".join(segments)
    assert route_fault(get(path), []) is None
    assert match_path(path, path).params == {}
    assert match_path(path, path + "/") is None
    assert match_path(path, path + "c") is None


def test_named_routes_come_before_wildcards_and_each_in_order():
    routes = [get("*"), get("/a/*"), get("/:x/b"), get("/a/b")]
    assert find_route(routes, "GET", "/a/b")[0].path == "/:x/b"
    assert find_route(routes, "GET", "/a/c")[0].path == "*"
    assert find_route(routes, "POST", "/a/b") is None


def test_segments_are_not_decoded():
    _, match = find_route([get("/file/:name")], "GET", "/file/%2e%2e%2fetc")
    assert match.params == {"name": "%2e%2e%2fetc"}
    assert find_route([get("/file/:name")], "GET", "/file/a/b") is None


def test_a_wildcard_takes_the_rest_which_may_be_empty():
    assert match_path("/x/*", "/x/a/b").wildcard == "a/b"
    assert match_path("/x/*", "/x/").wildcard == ""
    assert match_path("/x/*", "/x").wildcard == ""
    assert match_path("/x/*", "/y") is None


def test_an_extension_stays_below_its_prefix_whatever_its_id():
    for plugin_id in ["../v1", "a/b", "*", ":x", "é"]:
        path = plugin_route(plugin_id, get("/x"), 0).path
        assert path.startswith("/plugins/")
        assert path.count("/") == 3
        assert not set(path) & set("*:")


def test_an_extension_may_not_check_credentials_itself():
    with pytest.raises(RouteError) as refused:
        plugin_route("p", get("/x", auth=OpenAuth("auth-exchange")), 0)
    assert refused.value.code == "SDK_ROUTE_AUTH_FORBIDDEN"
