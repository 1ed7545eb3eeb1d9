"""A throw-away PostgreSQL server, started as an ordinary user below a temporary folder, without TCP."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import psycopg

_USERS = ("postgres", "nobody")
"""Whom the server runs as when the tests run as root, which it refuses."""
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # no power cuts here; a crash of the server alone loses nothing
    "shared_buffers": "32MB",
    "max_connections": "60",
    "autovacuum": "off",
}


@attrs.define
class Server:
    """A running server. ``folder`` is None when it belongs to somebody else."""

    url: str
    """With ``{}`` for the name of a database."""
    folder: Path | None = None
    database: str = f"greenroom_test_{os.getpid()}"

    def empty(self) -> str:
        """Return the URL of a database without a store; whoever is still connected is sent away."""
        url = self.url.format(self.database)
        with psycopg.connect(self.url.format("postgres"), autocommit=True) as db:
            known = db.execute("SELECT 1 FROM pg_database WHERE datname = %s", (self.database,))
            if known.fetchone() is None:
                db.execute(f"CREATE DATABASE {self.database} TEMPLATE template0 ENCODING 'UTF8'")
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (self.database,),
            )
        self.execute("DROP SCHEMA IF EXISTS greenroom CASCADE", self.database)
        return url

    def execute(self, sql: str, database: str = "postgres") -> None:
        """Execute a statement outside of any store."""
        with psycopg.connect(self.url.format(database), autocommit=True) as db:
            db.execute(sql)

    def control(self, *words: str) -> None:
        """Start, stop or restart it."""
        assert self.folder is not None
        data, log = self.folder / "data", self.folder / "log"
        options = " ".join(f"-c {name}={value or repr(value)}" for name, value in _SETTINGS.items())
        options += f" -c unix_socket_directories={self.folder}"
        run("pg_ctl", "-D", str(data), "-l", str(log), "-w", "-o", options, *words)


@contextmanager
def serving() -> Iterator[Server]:
    """Start a server and stop it at the end."""
    folder = Path(tempfile.mkdtemp(prefix="greenroom-pg-"))
    try:
        if (user := _user()) is not None:
            shutil.chown(folder, *user)
        run(
            "initdb",
            "-D",
            str(folder / "data"),
            "-U",
            "greenroom",
            "-A",
            "trust",
            "-N",
            "-E",
            "UTF8",
            "--locale=C",
        )
        server = Server(f"postgresql://greenroom@/{{}}?host={folder}", folder)
        server.control("start")
        try:
            yield server
        finally:
            server.control("stop", "-m", "immediate")
    finally:
        shutil.rmtree(folder)


def binaries() -> Path | None:
    """Return the folder of the server's programs, the newest there is."""
    folders = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name)
    )
    if folders:
        return folders[-1]
    found = shutil.which("initdb")
    return None if found is None else Path(found).resolve().parent


def run(program: str, *words: str) -> None:
    """Run a program of the server as an ordinary user."""
    folder = binaries()
    assert folder is not None
    user = _user()
    who = {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}
    ran = subprocess.run(
        [folder / program, *words], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=60, **who,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


def _user() -> tuple[int, int] | None:
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    return None
