"""The tables, how they came to be, and the refusal of files that are not ours."""

from collections.abc import Sequence

import apsw
import attrs

from actors.errors.store import SchemaTooNewError, SchemaUnrecognizedError

APPLICATION_ID = 0x47524E52
"""``GRNR``: says in the file's header whose it is."""


@attrs.frozen
class Migration:
    """One step from a schema version to the next."""

    what: str
    sql: str


FIRST = Migration(
    "sessions, events in commit order, open work, ownership",
    """
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: a late reader finds nothing
        id TEXT NOT NULL,
        source INTEGER,  -- key of the session whose first events it shares
        cut INTEGER NOT NULL,  -- how many of them
        parent TEXT,
        agent TEXT NOT NULL,
        title TEXT,
        origin TEXT NOT NULL,
        created INTEGER NOT NULL,
        kept INTEGER  -- NULL: alive; else deleted, and forks still read events below this seq
    ) STRICT;
    CREATE UNIQUE INDEX sessions_by_id ON sessions (id) WHERE kept IS NULL;
    CREATE INDEX sessions_by_parent ON sessions (parent, id) WHERE kept IS NULL AND parent IS NOT NULL;
    CREATE INDEX sessions_by_source ON sessions (source) WHERE source IS NOT NULL;
    CREATE TABLE events (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        time INTEGER NOT NULL,
        type TEXT NOT NULL,
        body BLOB NOT NULL,
        crc INTEGER NOT NULL,
        marks TEXT,
        UNIQUE (session, seq)
    ) STRICT;
    CREATE TABLE open_work (
        id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE trash (
        session INTEGER PRIMARY KEY  -- deleted, and perhaps holding more than its forks read
    ) STRICT;
    CREATE TABLE owner (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        epoch INTEGER NOT NULL,
        owner TEXT,
        pid INTEGER,
        host TEXT,
        boot TEXT,
        started TEXT
    ) STRICT;
    INSERT INTO owner (one, epoch) VALUES (1, 0);
    """,
)

SNAPSHOTS = Migration(
    "snapshots of the fold, a cache",
    """
    CREATE TABLE snapshots (
        session INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,  -- how many of its events the body is about
        body BLOB NOT NULL
    ) STRICT;
    """,
)

BLOBS = Migration(
    "blobs in pieces, who holds them, and what is to be removed",
    """
    CREATE TABLE blobs (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        digest TEXT UNIQUE,  -- NULL: not whole yet, or not any more
        size INTEGER NOT NULL,
        piece INTEGER NOT NULL  -- bytes in each piece but the last
    ) STRICT;
    CREATE INDEX blobs_in_parts ON blobs (key) WHERE digest IS NULL;
    CREATE TABLE blob_pieces (
        blob INTEGER NOT NULL,
        number INTEGER NOT NULL,
        body BLOB NOT NULL,
        crc INTEGER NOT NULL,
        UNIQUE (blob, number)
    ) STRICT;
    CREATE TABLE blob_holds (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,  -- of the event that names it; -1 for an upload
        blob INTEGER NOT NULL,
        since INTEGER,  -- when it was uploaded
        PRIMARY KEY (session, seq, blob)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX blob_holds_by_blob ON blob_holds (blob, session, seq);
    CREATE INDEX blob_uploads ON blob_holds (since) WHERE since IS NOT NULL;
    CREATE TABLE blob_trash (
        blob INTEGER PRIMARY KEY  -- perhaps nobody holds it any more
    ) STRICT;
    """,
)

FINDING = Migration(
    "events by time, the text of what is visible, the audit trail",
    """
    CREATE INDEX events_by_time ON events (time, session, seq);
    CREATE TABLE search_texts (
        place INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice: the cursor of a search
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        text TEXT NOT NULL,
        crc INTEGER NOT NULL,
        UNIQUE (session, seq)
    ) STRICT;
    CREATE TABLE search_stands (
        session INTEGER PRIMARY KEY,
        length INTEGER NOT NULL  -- how many of its events were looked at
    ) STRICT;
    CREATE VIRTUAL TABLE search_trigrams USING fts5(
        text, content = 'search_texts', content_rowid = 'place', tokenize = 'trigram'
    );
    CREATE TRIGGER search_come AFTER INSERT ON search_texts BEGIN
        INSERT INTO search_trigrams (rowid, text) VALUES (new.place, new.text);
    END;
    CREATE TRIGGER search_gone AFTER DELETE ON search_texts BEGIN
        INSERT INTO search_trigrams (search_trigrams, rowid, text)
        VALUES ('delete', old.place, old.text);
    END;
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        time INTEGER NOT NULL,
        type TEXT NOT NULL,
        data TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_type ON audit (type, id);
    """,
)

MIGRATIONS: tuple[Migration, ...] = (FIRST, SNAPSHOTS, BLOBS, FINDING)


def check_ours(db: apsw.Connection, name: str, known: int = len(MIGRATIONS)) -> int:
    """Return the schema version of a database that is ours or empty (0); changes nothing.

    Raises:
        SchemaUnrecognizedError: it is another program's database, or no database.
        SchemaTooNewError: a newer version wrote it.
        apsw.CorruptError: it is a database, and damaged.
    """
    try:
        application = db.execute("PRAGMA application_id").get
    except apsw.NotADBError as error:
        raise SchemaUnrecognizedError(name) from error
    version = db.execute("PRAGMA user_version").get
    tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION_ID and (application or version or tables):
        raise SchemaUnrecognizedError(name)
    if version > known:
        raise SchemaTooNewError(name, version, known)
    return int(version)


def migrate(db: apsw.Connection, version: int, chain: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema from ``version`` to the end of ``chain``, each step in one transaction.

    Every step leaves a row in ``migrations``.
    """
    for number, step in enumerate(chain[version:], version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(
                "CREATE TABLE IF NOT EXISTS migrations"
                " (version INTEGER PRIMARY KEY, what TEXT NOT NULL) STRICT"
            )
            db.execute(step.sql)
            db.execute("INSERT INTO migrations VALUES (?, ?)", (number, step.what))
            db.pragma("application_id", APPLICATION_ID)
            db.pragma("user_version", number)
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
