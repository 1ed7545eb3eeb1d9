"""How the headers of an answer say numbers and times. Pure."""

import math
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime


def amount(text: str) -> float | None:
    """Return the number that a header says; None when it is none, negative, or without end."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def wait_s(
    then: str, now: str, read: Callable[[str], datetime] = parsedate_to_datetime
) -> float | None:
    """Return the seconds from the ``Date`` of an answer until ``then``, at least zero; None when either is no time.

    No clock is needed, and none can be wrong. ``read`` reads the form that ``then`` has.
    """
    try:
        wait = read(then) - parsedate_to_datetime(now)
    except (ValueError, TypeError):
        return None
    return max(wait.total_seconds(), 0.0)
