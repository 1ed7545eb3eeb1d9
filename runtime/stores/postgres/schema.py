"""The tables, how they came to be, and the refusal of what is not ours.

Everything stands in a schema of its own, so that a database may hold other things beside it.
"""

from collections.abc import Sequence

import psycopg

from actors.errors.store import SchemaTooNewError, SchemaUnrecognizedError
from runtime.stores.schema import Migration

SCHEMA = "greenroom"
KEYS_AT_ONCE = 64
"""Session keys that one step of the sequence ``session_keys`` reserves."""
_MIGRATING = 0x47524E52
"""``GRNR``: the advisory lock of whoever looks at the schema or changes it."""

FIRST = Migration(
    "sessions, events, open work, ownership, snapshots, blobs",
    """
    CREATE SEQUENCE session_keys INCREMENT BY 64;
    CREATE TABLE sessions (
        key BIGINT PRIMARY KEY,  -- never used twice: a late reader finds nothing
        id TEXT COLLATE "C" NOT NULL,
        source BIGINT,  -- key of the session whose first events it shares
        cut BIGINT NOT NULL,  -- how many of them
        length BIGINT NOT NULL,  -- what an append is conditional on
        parent TEXT COLLATE "C",
        agent TEXT NOT NULL,
        title TEXT,
        origin TEXT NOT NULL,
        created BIGINT NOT NULL,
        kept BIGINT  -- NULL: alive; else deleted, and forks still read events below this seq
    ) WITH (fillfactor = 70);  -- room for the next length on the same page
    CREATE UNIQUE INDEX sessions_by_id ON sessions (id) WHERE kept IS NULL;
    CREATE INDEX sessions_by_parent ON sessions (parent, id) WHERE kept IS NULL AND parent IS NOT NULL;
    CREATE INDEX sessions_by_source ON sessions (source) WHERE source IS NOT NULL;
    CREATE TABLE events (
        session BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        time BIGINT NOT NULL,
        type TEXT NOT NULL,
        body BYTEA NOT NULL,
        crc BIGINT NOT NULL,
        marks TEXT,
        PRIMARY KEY (session, seq)
    );
    CREATE TABLE open_work (
        id TEXT COLLATE "C" NOT NULL,
        seq BIGINT NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (id, seq)
    );
    CREATE TABLE trash (
        session BIGINT PRIMARY KEY  -- deleted, and perhaps holding more than its forks read
    );
    CREATE TABLE snapshots (
        session BIGINT PRIMARY KEY,
        seq BIGINT NOT NULL,  -- how many of its events the body is about
        body BYTEA NOT NULL
    );
    CREATE TABLE blobs (
        key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        digest TEXT COLLATE "C" UNIQUE,  -- NULL: not whole yet, or not any more
        size BIGINT NOT NULL,
        piece BIGINT NOT NULL  -- bytes in each piece but the last
    );
    CREATE INDEX blobs_in_parts ON blobs (key) WHERE digest IS NULL;
    CREATE TABLE blob_pieces (
        blob BIGINT NOT NULL,
        number BIGINT NOT NULL,
        body BYTEA NOT NULL,
        crc BIGINT NOT NULL,
        PRIMARY KEY (blob, number)
    );
    ALTER TABLE blob_pieces ALTER COLUMN body SET STORAGE EXTERNAL;  -- content is mostly compressed already
    CREATE TABLE blob_holds (
        session BIGINT NOT NULL,
        seq BIGINT NOT NULL,  -- of the event that names it; -1 for an upload
        blob BIGINT NOT NULL,
        since BIGINT,  -- when it was uploaded
        PRIMARY KEY (session, seq, blob)
    );
    CREATE INDEX blob_holds_by_blob ON blob_holds (blob, session, seq);
    CREATE INDEX blob_uploads ON blob_holds (since) WHERE since IS NOT NULL;
    CREATE TABLE blob_trash (
        blob BIGINT PRIMARY KEY  -- perhaps nobody holds it any more
    );
    CREATE TABLE owners (
        scope TEXT PRIMARY KEY,  -- '' stands for the whole store
        epoch BIGINT NOT NULL,
        link BIGINT NOT NULL,  -- counts the owner's connections, so that a lost one cannot write late
        done BIGINT NOT NULL,  -- counts transactions of several steps, so that it is known which were the last
        owner TEXT,
        pid BIGINT,
        host TEXT,
        boot TEXT,
        started TEXT
    );
    INSERT INTO owners (scope, epoch, link, done) VALUES ('', 0, 0, 0);
    CREATE FUNCTION refuse(why TEXT) RETURNS BIGINT LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'GR001', MESSAGE = why; END $$;
    """,
)

FINDING = Migration(
    "events by time, the text of what is visible, the audit trail",
    """
    CREATE INDEX events_by_time ON events (time, session, seq);
    CREATE TABLE search_texts (
        place BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the cursor of a search
        session BIGINT NOT NULL,
        seq BIGINT NOT NULL,
        text TEXT NOT NULL,
        crc BIGINT NOT NULL,
        UNIQUE (session, seq)
    );
    CREATE TABLE search_stands (
        session BIGINT PRIMARY KEY,
        length BIGINT NOT NULL  -- how many of its events were looked at
    );
    CREATE TABLE audit (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        time BIGINT NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL
    );
    CREATE INDEX audit_by_type ON audit (type, id);
    """,
)

MIGRATIONS: tuple[Migration, ...] = (FIRST, FINDING)

_FOUND = """
    SELECT to_regclass('greenroom.migrations') IS NOT NULL,
        EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('greenroom'))
"""
_VERSION = "SELECT coalesce(max(version), 0) FROM greenroom.migrations"
_BEGIN = """
    CREATE SCHEMA IF NOT EXISTS greenroom;
    CREATE TABLE IF NOT EXISTS greenroom.migrations (
        version BIGINT PRIMARY KEY, what TEXT NOT NULL, done TIMESTAMPTZ NOT NULL DEFAULT now()
    );
"""
_NOTE = "INSERT INTO greenroom.migrations (version, what) VALUES (%s, %s)"


def find_version(db: psycopg.Connection, name: str, known: int = len(MIGRATIONS)) -> int:
    """Return the schema version of a database that has ours or nothing of that name (0); changes nothing.

    Raises:
        SchemaUnrecognizedError: another program uses the name.
        SchemaTooNewError: a newer version wrote it.
    """
    is_ours, is_used = db.execute(_FOUND).fetchall()[0]
    if not is_ours:
        if is_used:
            raise SchemaUnrecognizedError(name)
        return 0
    try:
        version = int(db.execute(_VERSION).fetchall()[0][0])
    except psycopg.errors.InsufficientPrivilege:
        raise
    except (psycopg.ProgrammingError, ValueError) as error:
        raise SchemaUnrecognizedError(name) from error
    if version > known:
        raise SchemaTooNewError(name, version, known)
    return version


def migrate(db: psycopg.Connection, name: str, chain: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema to the end of ``chain``, each step in one transaction; others wait meanwhile.

    Every step leaves a row in ``migrations``.

    Raises:
        SchemaUnrecognizedError: another program uses the name.
        SchemaTooNewError: a newer version wrote it.
    """
    while (version := find_version(db, name, len(chain))) < len(chain):
        with db.transaction():
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
            if find_version(db, name, len(chain)) != version:
                continue  # another process was quicker
            if version == 0:
                db.execute(_BEGIN)
            step = chain[version]
            db.execute(step.sql.encode())
            db.execute(_NOTE, (version + 1, step.what))
