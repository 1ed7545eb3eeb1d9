"""Numbers as ECMAScript writes them, and which of them the log can hold.

Source: S-3, D-11, D-15, S-36.
"""

import math
from typing import Any, Final

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that JSON readers everywhere keep exact."""

_FIRST_EXPONENT: Final = 21
"""From this power of ten on, numbers are written with an exponent."""
_LAST_FRACTION: Final = -6
"""Down to this power of ten, numbers are written without one."""


def number_fault(number: Any) -> str | None:  # noqa: ANN401 - an exact int or float
    """Return why ``number`` cannot stand in the log, or None."""
    if type(number) is int:
        if abs(number) > MAX_INTEGER:
            return "an integer beyond 2^53-1 loses digits in other readers: write it as text"
        return None
    if not math.isfinite(number):
        return f"{number} is not a JSON number"
    if number == 0 and math.copysign(1, number) < 0:
        return "negative zero does not survive other writers"
    return None


def number_text(number: float) -> str:
    """Return the text of a number the log can hold; what it is read back as equals ``number``."""
    if MAX_INTEGER < abs(number) < 10.0**_FIRST_EXPONENT:
        return repr(float(number))
    return script_text(number)


def script_text(number: float) -> str:
    """Return the text ECMAScript has for a finite ``number`` (an int beyond 2^53-1 is rounded)."""
    if abs(number) <= MAX_INTEGER and number == int(number):
        return str(int(number))
    digits, exponent = _decimal(abs(float(number)))
    sign = "-" if number < 0 else ""
    return sign + _placed(digits, exponent)


def _decimal(number: float) -> tuple[str, int]:
    """Return the shortest digits and the power of ten of the first digit."""
    mantissa, _, power = f"{number!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + ("" if fraction == "0" else fraction)).lstrip("0")
    first = len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1
    return digits.rstrip("0") or "0", first + int(power or 0)


def _placed(digits: str, exponent: int) -> str:
    if exponent >= _FIRST_EXPONENT or exponent < _LAST_FRACTION:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{fraction}e{exponent:+d}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return digits.ljust(exponent + 1, "0")
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
