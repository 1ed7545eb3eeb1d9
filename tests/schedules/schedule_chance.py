"""Chance that a name decides: every draw of a run comes from a generator made here."""

from random import Random  # noqa: TID251 - always seeded: the seed names the schedule

__all__ = ["Random", "seeded"]


def seeded(name: str) -> Random:
    """Return the generator of that name."""
    return Random(name)
