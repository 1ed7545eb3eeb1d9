"""Pictures are taken out of the model's view, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.log import SurfaceOpError
from actors.log.blobs import digest_of
from actors.log.events import Draft
from actors.log.log import Log
from actors.log.slicing import slice_events
from tests.log_fold.scripts import call, log_of, reply, result, summary, user

PICTURE = {"type": "image", "blob": digest_of(b"x"), "mediaType": "image/png", "name": "p.png"}
TOLD = {
    "type": "text",
    "text": f"[picture p.png image/png {digest_of(b'x')}: taken out of view]",
}
TEXT = {"type": "text", "text": "t"}


def offload(*seqs):
    return Draft("image/offload", {"seqs": list(seqs)})


def contents(log):
    return [
        message.output if hasattr(message, "output") else message.content
        for message in log.projection().messages
    ]


def test_a_text_stands_in_the_place_of_each_picture_of_messages_and_results():
    log = log_of(
        user([TEXT, PICTURE, PICTURE]),
        user([PICTURE]),
        reply(),
        call("c"),
        result("c", [PICTURE, TEXT]),
    )
    before = log.projection()
    log.append(offload(0, 4), time_ms=0)
    assert contents(log)[0] == [TEXT, TOLD, TOLD]
    assert contents(log)[1] == [PICTURE]
    assert contents(log)[-1] == [TOLD, TEXT]
    assert log.fold.nodes == (0, 1, 2, 4)
    assert before.messages[0].content == [TEXT, PICTURE, PICTURE]
    assert Log.load(log.events()).projection() == log.projection()


@pytest.mark.parametrize(
    "data",
    [{}, {"seqs": []}, {"seqs": "0"}, {"seqs": [1]}, {"seqs": [0, 0]}, {"seqs": [0, 1]},
     {"seqs": [True]}, {"seqs": [9]}, {"seqs": [-1]}, {"seqs": ["0"]}, {"seqs": [2]}, [], "0"],
)  # fmt: skip
def test_what_is_no_visible_message_with_a_picture_is_refused_and_nothing_changes(data):
    log = log_of(user([PICTURE]), user("plain"), user([PICTURE]), summary(2, 2, (2,)))
    with pytest.raises(SurfaceOpError) as caught:
        log.append(Draft("image/offload", data), time_ms=0)
    assert caught.value.rule == "projection-refused"
    assert (len(log), contents(log)[0]) == (4, [PICTURE])


def test_pictures_are_taken_out_once():
    log = log_of(user([PICTURE]), offload(0))
    with pytest.raises(SurfaceOpError):
        log.append(offload(0), time_ms=0)


def test_a_slice_takes_along_what_it_has():
    log = log_of(user([PICTURE]), user([PICTURE]), offload(0), offload(1))
    part = slice_events(log.events(), 1, 3)
    assert [event.type for event in part] == ["user/message", "image/offload"]
    assert contents(Log.load(part)) == [[TOLD]]
    both = log_of(user("a"), user([PICTURE]), user([PICTURE]), offload(1, 2))
    assert contents(Log.load(slice_events(both.events(), 2, 3))) == [[TOLD]]


def test_a_snapshot_keeps_pictures_out_of_view_and_knows_that_there_is_something_to_read():
    log = log_of(user([TEXT, PICTURE]), user("plain"), offload(0), user([PICTURE]))
    woken = Log.restore(log.snapshot("s"), "s", 4)
    assert woken.projection() == log.projection()
    assert woken.fold.put_away == 3
    woken.append(offload(3), time_ms=0)
    assert contents(woken) == [[TEXT, TOLD], "plain", [TOLD]]


@given(
    st.lists(
        st.tuples(st.sampled_from(["picture", "text", "offload"]), st.integers(0, 20)), max_size=25
    )
)
def test_the_fold_equals_the_fold_from_scratch_at_every_prefix(script):
    log = Log()
    for kind, at in script:
        draft = {
            "picture": user([TEXT, PICTURE]),
            "text": user("t"),
            "offload": offload(at),
        }[kind]
        try:
            log.append(draft, time_ms=0)
        except SurfaceOpError:
            assert kind == "offload"
        assert Log.load(log.events()).projection() == log.projection()
    for cut in range(len(log) + 1):
        assert (
            log.fork(cut).projection().messages
            == Log.load(log.events(0, cut)).projection().messages
        )
