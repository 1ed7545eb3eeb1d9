"""Names of blobs in the bytes of an event, and excerpts of outputs that no event holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.log.blobs import (
    Digester,
    blobs_of,
    digest_of,
    is_digest,
    named_blobs,
    names_blobs,
    without_names,
)
from actors.log.budget import CONTENT_BYTES, budget_content
from actors.log.codec import encode
from actors.log.event_budget import fit
from actors.log.json_text import escaped_bytes, json_bytes, units
from actors.log.overflow import (
    Kept,
    as_text,
    brief,
    excerpt,
    is_large,
    kept_note,
    pieces,
    shown_bytes,
)

DIGESTS = [digest_of(bytes([number])) for number in range(4)]
TRICKS = [*DIGESTS, "sha256:", DIGESTS[0].upper(), f'"blob":"{DIGESTS[1]}"', f"x{DIGESTS[2]}"]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(TRICKS) | st.text(max_size=5),
    lambda child: (
        st.lists(child, max_size=4)
        | st.dictionaries(st.sampled_from(["blob", "content", "a", '"blob":']), child, max_size=4)
    ),
    max_leaves=12,
)
seeds = st.text(st.sampled_from('a"\\\n\x00é€😀'), max_size=40)
"""Four thousand of each make a text."""


@given(values)
def test_the_bytes_name_what_the_value_names(value):
    body = encode(value)
    assert set(named_blobs(body)) == set(blobs_of(value))
    assert names_blobs(body) >= bool(named_blobs(body))
    assert len(named_blobs(body)) == len(set(named_blobs(body)))


@given(values)
def test_a_strangers_value_names_nothing_and_changes_in_nothing_else(value):
    plain = without_names(value)
    assert not list(blobs_of(plain))
    assert plain == _without(value)
    if not list(blobs_of(value)):
        assert plain is value


def _without(value):
    if isinstance(value, list):
        return [_without(child) for child in value]
    if isinstance(value, dict):
        return {k: _without(v) for k, v in value.items() if k != "blob" or not is_digest(v)}
    return value


@given(st.binary(max_size=300), st.integers(1, 50))
def test_a_digest_does_not_depend_on_how_content_is_cut(content, size):
    digester = Digester()
    for at in range(0, len(content), size):
        digester.update(content[at : at + size])
    assert (digester.digest, digester.size_bytes) == (digest_of(content), len(content))
    assert is_digest(digester.digest)


@pytest.mark.parametrize("value", [None, 7, "", "sha256:", DIGESTS[0] + "0", DIGESTS[0] + "\n"])
def test_what_is_no_digest(value):
    assert not is_digest(value)


@settings(max_examples=60)
@given(seeds)
def test_a_large_text_begins_with_its_excerpt_and_goes_on_where_the_note_says(seed):
    text = seed * 4_000
    assert is_large(text) == (escaped_bytes(text) > CONTENT_BYTES)
    if not is_large(text):
        return
    whole = as_text(text).encode()
    kept = Kept(digest=digest_of(whole), size_bytes=len(whole), media_type="text/plain")
    shown = shown_bytes(text, units(text))
    cut = excerpt(text, units(text), kept_note(kept, shown))
    assert escaped_bytes(cut) <= CONTENT_BYTES
    assert fit("tool/result", encode({"content": cut})).truncated is False
    start, marker, note = cut.rpartition("…[truncated ")
    assert marker
    assert start.encode() == whole[:shown]
    assert f'"fromByte": {shown}' in note
    assert escaped_bytes(brief(text)) <= CONTENT_BYTES


@settings(max_examples=60)
@given(st.lists(seeds, max_size=4))
def test_large_blocks_leave_what_an_event_holds(each):
    blocks = [{"type": "text", "text": seed * 4_000} for seed in each]
    assert is_large(blocks) == (budget_content(blocks) is not blocks)
    if is_large(blocks):
        cut = excerpt(blocks, units(as_text(blocks)), "\n[note]")
        assert fit("tool/result", encode({"content": cut})).truncated is False
        assert cut[-1]["text"].endswith("[note]")


@given(st.text(st.sampled_from("a\ud83d\ude00é"), max_size=30))
def test_pieces_are_the_text_with_its_pairs_whole(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("actors.log.overflow.PIECE_CHARS", 3)
        cut = list(pieces(text))
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert "".join(cut) == whole
    assert all(piece.encode() for piece in cut)


def test_an_encoded_excerpt_of_blocks_stays_small():
    blocks = [{"type": "thinking", "thinking": "t" * 70_000}, {"type": "odd", "x": "y" * 90_000}]
    assert json_bytes(excerpt(blocks, 1, "\n[note]")) < CONTENT_BYTES + 200


def test_any_depth_is_walked():
    deep = {"blob": DIGESTS[0]}
    for _ in range(100_000):
        deep = [deep]
    assert list(blobs_of(deep)) == [DIGESTS[0]]
    assert isinstance(without_names(deep), list)


def test_a_ring_is_walked_once():
    ring = [{"blob": DIGESTS[1]}]
    ring[0]["content"] = ring
    assert list(blobs_of(ring)) == [DIGESTS[1]]
