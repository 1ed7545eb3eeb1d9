"""URLs: taken apart without showing what may be a secret."""

import pytest

from actors.errors.format import ExtraMissingError
from actors.errors.store import StoreSpecError
from runtime.stores import open as opening
from runtime.stores.open import open_store
from runtime.stores.postgres.target import shown, to_target

NAMES = {
    "postgresql://user@host/db": "postgresql://user@host/db",
    "postgresql://user:secret@host:5432/db": "postgresql://user@host:5432/db",
    "postgresql://user:s%40cret@one:1,two:2/db?sslmode=require": "postgresql://user@one:1,two:2/db",
    "postgresql:///db?host=/run/postgresql&password=secret": "postgresql:///db",
    "postgresql://[::1]:5432/db": "postgresql://[::1]:5432/db",
    "postgresql://": "postgresql://",
}


@pytest.mark.parametrize("spec", NAMES)
def test_a_name_has_no_password_and_no_options(spec):
    target = to_target(spec)
    assert target.name == NAMES[spec] == shown(spec)
    assert target.conninfo == spec
    assert "cret" not in repr(target)


@pytest.mark.parametrize(
    "spec",
    [
        "postgresql://user:se/cret@host/db",
        "postgresql://user:se@cret@host/db",
        "postgresql://user:se?cret@host/db",
        "postgresql://user:se#cret@host/db",
        "postgresql://host:secret/db",
        "postgresql://host/db\0secret",
        "postgresql://user:secret@[host/db",
    ],
)
async def test_a_url_that_cannot_be_taken_apart_for_certain_is_refused_and_not_shown(spec):
    with pytest.raises(StoreSpecError, match="percent-encode") as caught:
        async with open_store(spec):
            pass
    for part in ("cret", "secret", "user"):
        assert part not in str(caught.value).replace("special in user", "").replace("user@host", "")


@pytest.mark.parametrize("spec", ["postgres://u:secret@host/db", "mysql://u:secret@host/db"])
async def test_a_url_of_another_scheme_is_refused_and_not_shown(spec):
    with pytest.raises(StoreSpecError, match=r"postgresql://user@host/database") as caught:
        async with open_store(spec):
            pass
    assert "secret" not in str(caught.value)
    assert "secret" not in shown(spec)


@pytest.mark.parametrize("spec", [":memory:", "a/b.db", "sqlite:///a.db"])
def test_other_stores_are_shown_as_they_are(spec):
    assert shown(spec) == spec


async def test_without_the_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(opening, "find_spec", lambda _name: None)
    with pytest.raises(ExtraMissingError, match=r"greenroom\[postgres\]"):
        async with open_store("postgresql://user@host/db"):
            pass
