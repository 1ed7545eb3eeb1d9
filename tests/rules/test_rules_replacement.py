"""An exact replacement applies in one place, or says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors.files import EditAmbiguousError, EditNotFoundError
from actors.rules.replacement import replaced

TEXT = "one\n  two\nthree\ntwo\n"


def test_what_occurs_once_is_replaced():
    assert replaced("f", TEXT, "three", "3") == "one\n  two\n3\ntwo\n"


def test_what_occurs_twice_is_refused_with_its_lines_unless_all_are_meant():
    with pytest.raises(EditAmbiguousError, match="2 times, at line 2, 4"):
        replaced("f", TEXT, "two", "2")
    assert replaced("f", TEXT, "two", "2", every=True) == "one\n  2\nthree\n2\n"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("one\ntwo", "only with other white space"),
        ("three\nfour", "first line does, at line 3"),
        ("nothing of it", "read the file"),
        ("", "empty"),
    ],
)
def test_what_does_not_occur_is_refused_with_what_is_near(old, hint):
    with pytest.raises(EditNotFoundError, match=hint):
        replaced("f", TEXT, old, "new")


parts = st.text("ab\n", max_size=6)


@given(parts, parts, parts, parts)
def test_nothing_else_is_touched(before, old, after, new):
    try:
        result = replaced("f", before + old + after, old, new)
    except (EditAmbiguousError, EditNotFoundError):
        return
    assert result == before + new + after
