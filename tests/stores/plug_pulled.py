"""What a disk holds at the moment when the power goes, for every moment of a recorded run.

A :class:`Disk` listens to the steps of :mod:`tests.stores.faulty_vfs` and keeps the acknowledgements between them. From
that it makes the files as they were after any number of steps; nothing has to be killed for it. The shared memory of a
write-ahead log is not among them: whoever opens the files first makes it anew, also after a crash of the process alone.
"""

import random  # noqa: TID251 - seeded by the test, so that a failure can be run again
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import attrs

from tests.stores.faulty_vfs import Step

Cut: TypeAlias = Callable[[list[Step], random.Random], list[Step]]
"""Says which of the steps since a file's last sync have reached it, in whole or in part."""


def all_of_them(pending: list[Step], _chance: random.Random) -> list[Step]:
    """The process died, and the system wrote what it was given."""
    return pending


def the_last_one_torn(pending: list[Step], chance: random.Random) -> list[Step]:
    """The last write was cut at some byte."""
    return [*pending[:-1], _torn(pending[-1], chance)] if pending else []


def any_of_them(pending: list[Step], chance: random.Random) -> list[Step]:
    """The power went: what was not synced may be there, or not, or in part, in any order."""
    kept = [step for step in pending if chance.random() < 0.5]
    return [_torn(step, chance) if chance.random() < 0.3 else step for step in kept]


def _torn(step: Step, chance: random.Random) -> Step:
    return attrs.evolve(step, data=step.data[: chance.randrange(len(step.data) + 1)])


@attrs.frozen
class Mark:
    """Something that the workload began or was told, between two steps."""

    what: str
    session: str
    length: int


@attrs.define
class Disk:
    """The steps of a run in their order, and the marks between them."""

    path: Path
    tape: list[Step | Mark] = attrs.field(factory=list)

    def mark(self, what: str, session: str, length: int = 0) -> None:
        """Note what the workload began or was told."""
        self.tape.append(Mark(what, session, length))

    def moments(self) -> list[int]:
        """Return each number of entries after which a step has just been taken."""
        return [n for n, entry in enumerate(self.tape, 1) if isinstance(entry, Step)]

    def marks(self, moment: int) -> list[Mark]:
        """Return the marks up to a moment."""
        return [entry for entry in self.tape[:moment] if isinstance(entry, Mark)]

    def write_image(self, moment: int, to: Path, cut: Cut, chance: random.Random) -> None:
        """Write the files as the disk has them at a moment, under the name ``to``."""
        for name, content in self._files(moment, cut, chance).items():
            to.with_name(to.name + name.removeprefix(str(self.path))).write_bytes(content)

    def _files(self, moment: int, cut: Cut, chance: random.Random) -> dict[str, bytes]:
        synced: dict[str, bytearray] = {str(self.path): bytearray()}
        pending: dict[str, list[Step]] = {}
        for step in self.tape[:moment]:
            if isinstance(step, Mark):
                continue
            waiting = pending.setdefault(step.file, [])
            if step.kind == "sync":
                _apply(synced.setdefault(step.file, bytearray()), waiting)
                waiting.clear()
            elif step.kind == "delete":
                waiting.clear()
                synced.pop(step.file, None)
            else:
                waiting.append(step)
        for file, waiting in pending.items():
            if reached := cut(waiting, chance):
                _apply(synced.setdefault(file, bytearray()), reached)
        return {file: bytes(content) for file, content in synced.items()}


def _apply(content: bytearray, steps: list[Step]) -> None:
    for step in steps:
        if step.kind == "truncate":
            del content[step.size :]
            content.extend(bytes(max(step.size - len(content), 0)))
        else:
            content.extend(bytes(max(step.offset - len(content), 0)))
            content[step.offset : step.offset + len(step.data)] = step.data
