"""Lengths of text as the S rules count them.

Source: S-1.
"""


def units(text: str) -> int:
    """Return the number of UTF-16 code units; a character outside the basic plane counts 2."""
    if text.isascii():
        return len(text)
    return len(text) + sum(char > "\uffff" for char in text)


def first_units(text: str, limit: int) -> str:
    """Return the longest start of ``text`` that has at most ``limit`` units."""
    if units(text) <= limit:
        return text
    room, end = limit, 0
    for char in text[:limit]:
        room -= 2 if char > "\uffff" else 1
        if room < 0:
            break
        end += 1
    return text[:end]
