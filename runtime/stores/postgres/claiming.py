"""Coming and going of owners, as jobs for the writer: each in a transaction of its own.

Source: P3, S-30 of the scenarios.
"""

from abc import abstractmethod

import attrs
import psycopg

from runtime.stores.handover import Job
from runtime.stores.postgres.ownership import Ownership


@attrs.define(eq=False)
class OwnerWrite(Job):
    """A job that changes who may write."""

    @abstractmethod
    def perform(self, ownership: Ownership, db: psycopg.Connection) -> object:
        """Do it and return what the caller gets.

        Raises:
            GreenroomError: it is refused, and nothing of it was done.
        """


@attrs.define(eq=False)
class Claim(OwnerWrite):
    """Become the owner."""

    owner: str
    take_over: bool

    def perform(self, ownership: Ownership, db: psycopg.Connection) -> int:
        """See the port."""
        return ownership.claim(db, self.owner, take_over=self.take_over)


@attrs.define(eq=False)
class Release(OwnerWrite):
    """Stop being the owner."""

    epoch: int

    def perform(self, ownership: Ownership, db: psycopg.Connection) -> None:
        """See the port."""
        ownership.release(db, self.epoch)


@attrs.define(eq=False)
class Settle(OwnerWrite):
    """See that the connection is there, or come back, so that nothing is in doubt and the lock is held."""

    def perform(self, ownership: Ownership, db: psycopg.Connection) -> None:  # noqa: ARG002 - it stays as it is
        """Get an answer from the server."""
        db.execute("SELECT 1")
