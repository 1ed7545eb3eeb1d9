"""The one writer: writes groups over a connection that may be lost and come back.

Source: performance.md, point 3.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import TypeAlias, cast

import psycopg

from actors.errors import GreenroomError
from actors.errors.store import StoreCorruptError, UnstorableError
from runtime.stores.postgres.claiming import OwnerWrite
from runtime.stores.postgres.doubt import Doubt
from runtime.stores.postgres.faults import DAMAGED, REFUSED, UNSTORABLE, unavailable
from runtime.stores.postgres.link import Link
from runtime.stores.postgres.ownership import Ownership
from runtime.stores.postgres.settings import PostgresSettings
from runtime.stores.postgres.target import Target
from runtime.stores.postgres.transaction import Keys, PostgresTransaction
from runtime.stores.transaction import Cursors
from runtime.stores.writes import Write

AnyWrite: TypeAlias = Write | OwnerWrite


class Writer:
    """Writes groups through the one writing connection; runs in a worker thread."""

    def __init__(self, target: Target, settings: PostgresSettings) -> None:
        self.link = Link(target, settings, self._greet)
        self.commits = 0
        """Transactions committed so far."""
        self._name = target.name
        self._cursors, self._keys = Cursors(), Keys()
        self._ownership = Ownership(target.name)
        self._doubt: Doubt | None = None
        self._doubted: Sequence[AnyWrite] = ()
        """The writes that the doubt is about, while their callers still wait."""
        self._done: Sequence[AnyWrite] = ()
        """Writes that were in doubt and turned out to be done."""
        self._error: Exception = psycopg.OperationalError()
        """Why there was no connection last."""

    @property
    def is_owner(self) -> bool:
        """Whether it holds the ownership, as far as is known."""
        return self._ownership.held is not None

    @property
    def is_in_doubt(self) -> bool:
        """Whether something may have been written that nobody acknowledged."""
        return self._doubt is not None

    def work(self, group: Sequence[AnyWrite]) -> list[AnyWrite]:
        """Serve ``group`` in one transaction; those served have their result.

        A member that the database cannot take fails alone: the others are written one by one. An owner
        comes or goes in a transaction of its own.

        Returns:
            Those that wait until there is a connection again.
        """
        left = list(group)
        singly, forgot = 0, False
        while left:
            run = left[:1] if singly else _first_run(left)
            try:
                run = self._serve(run)
            except (psycopg.Error, *UNSTORABLE) as error:
                if not self.link.is_up:
                    self._error = error
                    return left
                if (why := _refused_for(error)) and not forgot:
                    self._look_again(why)
                    singly, forgot = len(run), True
                    continue
                if isinstance(error, (*DAMAGED, *UNSTORABLE)) and len(run) > 1:
                    singly = len(run)
                    continue
                for write in run:
                    write.refuse(self._refusal(write, error))
            del left[: len(run)]
            singly, forgot = max(singly - len(run), 0), False
        return left

    def give_up(self, group: Sequence[AnyWrite]) -> None:
        """Refuse ``group``: there was no connection for too long."""
        self._doubted = ()
        for write in group:
            write.refuse(unavailable(self._name, self._error))

    def close(self) -> None:
        """Close the connection."""
        self.link.close()

    def _serve(self, run: Sequence[AnyWrite]) -> Sequence[AnyWrite]:
        """Write ``run`` and return what is done: ``run``, or what turned out to be done before."""
        connection = self.link.db()
        done, self._done = self._done, ()
        if done:
            return done
        if isinstance(run[0], OwnerWrite):
            self._change_owner(connection, run[0])
        else:
            self._commit(connection, cast("Sequence[Write]", run))
        return run

    def _change_owner(self, connection: psycopg.Connection, write: OwnerWrite) -> None:
        held = self._ownership.held
        try:
            write.answer(write.perform(self._ownership, connection))
        except GreenroomError as refusal:
            write.refuse(refusal)
        if self._ownership.held != held:
            self._forget()

    def _commit(self, connection: psycopg.Connection, run: Sequence[Write]) -> None:
        transaction = PostgresTransaction(connection, self._cursors, self._ownership, self._keys)
        transaction.begin()
        try:
            for write in run:
                _decide(write, transaction)
            transaction.commit()
        except BaseException:
            if connection.closed and transaction.doubt is not None:
                self._doubt, self._doubted = transaction.doubt, run
            transaction.rollback()
            raise
        self.commits += 1

    def _greet(self, connection: psycopg.Connection) -> None:
        """Go on where the connection before was lost."""
        counted = self._ownership.rejoin(connection)
        self._forget()
        if (
            self._doubt is not None
            and counted is not None
            and self._doubt.is_done(connection, counted)
        ):
            if self._doubted:
                self._done = self._doubted
                self.commits += 1
            else:
                self._doubt.take_back(connection)
        self._doubt, self._doubted = None, ()

    def _look_again(self, why: str) -> None:
        """Take in that things are not as was remembered; what is decided anew gets the right refusal."""
        if why == "owner":
            self._ownership.held = None
        self._forget()

    def _forget(self) -> None:
        """Read everything anew: somebody else may have written."""
        self._cursors.clear()
        self._keys.forget()

    def _refusal(self, write: AnyWrite, error: Exception) -> GreenroomError:
        session_id = write.session_id if isinstance(write, Write) else ""
        if isinstance(error, DAMAGED):
            return StoreCorruptError(session_id, str(error))
        if isinstance(error, UNSTORABLE):
            return UnstorableError(session_id, str(error))
        return unavailable(self._name, error)


def _first_run(left: Sequence[AnyWrite]) -> Sequence[AnyWrite]:
    """Return those at the head that one transaction serves."""
    if isinstance(left[0], OwnerWrite):
        return left[:1]
    return list(takewhile(lambda write: isinstance(write, Write), left))


def _refused_for(error: Exception) -> str | None:
    """Return why a statement of ours refused itself; None when it failed otherwise."""
    if isinstance(error, psycopg.Error) and error.sqlstate == REFUSED:
        return error.diag.message_primary
    return None


def _decide(write: Write, transaction: PostgresTransaction) -> None:
    try:
        write.answer(write.apply(transaction))
    except GreenroomError as refusal:
        write.refuse(refusal)
