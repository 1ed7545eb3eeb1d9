"""The judges of Host, Origin and token let nobody in who names another server or comes from another page."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.faces.http.judges import (
    TcpAddress,
    bearer_of,
    exposed_host,
    judge_host_header,
    origin_allowed,
    verify_token,
)

HOSTS = st.sampled_from(["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])


@given(HOSTS, st.integers(0, 65535))
def test_the_names_of_this_machine_are_accepted_with_any_port(host, port):
    assert judge_host_header(f"{host}:{port}", "127.0.0.1") is None


@pytest.mark.parametrize(
    "header",
    [
        "localhost:80x",
        "localhost:8080@evil.test",
        "localhost:+80",
        "localhost:٣",
        "[::1]evil.test",
        "[::1]:80:80",
        "localhost:\n80",
    ],
)
def test_what_stands_behind_the_host_must_be_a_port(header):
    assert judge_host_header(header, "127.0.0.1") == "malformed"


@given(st.text(string.ascii_lowercase + ".", min_size=1).filter(lambda name: name != "localhost"))
def test_a_name_that_somebody_else_points_here_is_refused(name):
    assert judge_host_header(name, "127.0.0.1") == "not-loopback"
    assert judge_host_header(f"localhost.{name}:80", "127.0.0.1") == "not-loopback"


def test_a_wildcard_accepts_only_the_names_it_was_given():
    assert judge_host_header("box.lan:8080", "0.0.0.0") == "not-bind-address"
    assert judge_host_header("Box.lan:8080", "0.0.0.0", ["box.lan"]) is None
    assert origin_allowed("http://box.lan:8080", "0.0.0.0", 8080, ["box.lan"])
    assert not origin_allowed("http://box.lan:8080", "0.0.0.0", 8080)


@pytest.mark.parametrize(
    "origin", ["null", "http://evil.test", "https://localhost:7", "http://localhost:70"]
)
def test_a_foreign_page_is_refused(origin):
    assert not origin_allowed(origin, "127.0.0.1", 7)


def test_the_first_exposed_host_is_named():
    tcp = [TcpAddress("localhost", 1), TcpAddress("10.0.0.1", 1), TcpAddress("0.0.0.0", 1)]
    assert exposed_host(tcp, None) == "10.0.0.1"
    assert exposed_host(tcp, "") == "10.0.0.1"
    assert exposed_host(tcp, "secret") is None


@given(st.text(), st.text())
def test_tokens_match_when_they_are_equal_and_only_then(one, other):
    assert verify_token(one, one)
    assert verify_token(one, other) == (one == other)


def test_tokens_are_compared_by_digest_in_constant_time(monkeypatch):
    seen = []

    def compare(one, other):
        seen.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert not verify_token("a", "b" * 1000)
    assert seen == [(32, 32)]


@pytest.mark.parametrize("header", [None, "", "Bearer", "bearer x", "BEARER x", "Basic x"])
def test_only_the_bearer_scheme_holds_a_token(header):
    assert bearer_of(header) is None
    assert bearer_of("Bearer x y") == "x y"
