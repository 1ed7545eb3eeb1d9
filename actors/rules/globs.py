"""Glob patterns of paths: ``*`` and ``?`` within one name, ``**`` for any number of names.

Matching takes time in proportion to pattern times path, whatever the pattern: a model may give one.
"""

from collections.abc import Sequence

MANY = "**"


def is_glob(text: str) -> bool:
    """Whether a pattern stands for more than one path."""
    return "*" in text or "?" in text


def name_matches(pattern: str, name: str) -> bool:
    """Whether one name is what a pattern says."""
    at, star, resume = 0, -1, 0
    place = 0
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in {"?", name[place]}:
            at += 1
            place += 1
        elif star >= 0:  # the last star takes one character more
            resume += 1
            at, place = star + 1, resume
        else:
            return False
    return not pattern[at:].strip("*")


def reached(patterns: Sequence[str], names: Sequence[str], literal: int = 0) -> frozenset[int]:
    """Return how many of the first names the patterns can stand for; empty when they do not fit.

    Args:
        patterns: one for each name, or ``**``.
        names: of a path, from its root on.
        literal: so many of the first patterns are names as they are.
    """
    places = {0}
    for number, pattern in enumerate(patterns):
        if number >= literal and pattern == MANY:
            places = set(range(min(places), len(names) + 1))
        else:
            places = {
                place + 1
                for place in places
                if place < len(names) and _fits(pattern, names[place], is_pattern=number >= literal)
            }
        if not places:
            break
    return frozenset(places)


def matches(pattern: str, path: str) -> bool:
    """Whether a relative path is exactly what a pattern names."""
    names = path.split("/")
    return len(names) in reached(pattern.split("/"), names)


def _fits(pattern: str, name: str, *, is_pattern: bool) -> bool:
    return name_matches(pattern, name) if is_pattern else pattern == name
