"""A PostgreSQL server for those who ask, or their skipping with a reason."""

from importlib.util import find_spec

import pytest

from runtime.config import variable

GIVEN = "GREENROOM_TEST_POSTGRES"
"""The variable with the URL of a server on which tests may make databases, ``{}`` for their name."""


@pytest.fixture(scope="session")
def postgres():
    """A server."""
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: pip install 'greenroom[postgres]'")
    from tests.stores.postgres_server import Server, binaries, serving

    given = variable(GIVEN)
    if given is not None:
        server = Server(given)
        yield server
        server.execute(f"DROP DATABASE IF EXISTS {server.database} WITH (FORCE)")
    elif binaries() is None:
        pytest.skip(f"no PostgreSQL programs are found, and {GIVEN} names no server")
    else:
        with serving() as server:
            yield server


@pytest.fixture
def database(postgres) -> str:
    """The URL of a database without a store."""
    return postgres.empty()
