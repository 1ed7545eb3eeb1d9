"""One connection that comes back when it was lost.

Source: design 7.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from actors.errors.store import StoreSpecError
from runtime.stores.postgres.arrays import register
from runtime.stores.postgres.schema import SCHEMA
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import Target

_FORGOTTEN_S = 10
"""A connection that stands still inside a transaction (its process was stopped) is ended by the server."""

_KEEPALIVE = {
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
    "application_name": "greenroom",
}
"""A peer that is gone without a word is noticed within some ten seconds. The URL may say otherwise."""

_SETTINGS = {
    "search_path": SCHEMA,
    "default_transaction_isolation": "read committed",  # a fence must see the row as it is now
    "idle_in_transaction_session_timeout": f"{_FORGOTTEN_S}s",
    "idle_session_timeout": "0",  # an owner may have nothing to write for long
    "tcp_keepalives_idle": "10",  # the server's side: a vanished owner lets go of its lock
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # Every statement here finds rows by an index; no statistics, however old, may say otherwise.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
_SET = """
    SELECT set_config(name, value, false)
    FROM unnest(%s::text[], %s::text[]) AS s(name, value) JOIN pg_settings USING (name)
"""
_DURABLE = """
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""


class Link:
    """A connection to ``target``, opened when it is needed. Used by one worker thread at a time.

    Args:
        greet: what is done first on every new connection.
    """

    def __init__(
        self,
        target: Target,
        settings: PostgresSettings,
        greet: Callable[[psycopg.Connection], None] | None = None,
    ) -> None:
        self._target, self._settings, self._greet = target, settings, greet
        self._db: psycopg.Connection | None = None

    @property
    def is_up(self) -> bool:
        """Whether there is a connection that is not known to be lost."""
        return self._db is not None and not self._db.closed

    def db(self) -> psycopg.Connection:
        """Return the connection, a new one when it was lost.

        Raises:
            psycopg.Error: there is no way to the server now.
        """
        if self._db is None or self._db.closed:
            self.close()
            db = connect(self._target, self._settings)
            try:
                if self._greet is not None:
                    self._greet(db)
            except BaseException:
                db.close()
                raise
            self._db = db
        return self._db

    def hang_up(self) -> None:
        """Make whoever waits for the server's answer see that the connection is lost; from any thread."""
        db = self._db
        if db is not None and not db.closed:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=_copy(db)) as line:
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close what is open; it may be used again."""
        if self._db is not None:
            self._db.close()
            self._db = None


def connect(target: Target, settings: PostgresSettings) -> psycopg.Connection:
    """Open a connection that is set up as the store's statements expect.

    Raises:
        StoreSpecError: the URL has a part that PostgreSQL does not know.
        psycopg.Error: there is no way to the server now.
    """
    try:
        given: dict[str, Any] = conninfo_to_dict(target.conninfo)
    except psycopg.ProgrammingError:  # its text may show a secret, and so may its traceback
        raise StoreSpecError(target.name, "an option that PostgreSQL does not know") from None
    patience_s = str(max(round(settings.patience_s), 2))  # as the driver has it: 2 at least
    options = {**_KEEPALIVE, "connect_timeout": patience_s, **given}
    db = psycopg.connect("", autocommit=True, **options)
    try:
        _set_up(db, settings)
    except BaseException:
        db.close()
        raise
    return db


def _set_up(db: psycopg.Connection, settings: PostgresSettings) -> None:
    register(db)
    chosen = {
        **_SETTINGS,
        "client_encoding": "UTF8",
        "statement_timeout": f"{round(settings.statement_s * 1000)}ms",
        "lock_timeout": f"{round(settings.patience_s * 1000)}ms",
    }
    db.execute(_SET, (list(chosen), list(chosen.values())))
    db.execute(_DURABLE)


def _copy(db: psycopg.Connection) -> int:
    return socket.dup(db.fileno())
