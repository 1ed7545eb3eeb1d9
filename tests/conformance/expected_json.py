"""What the log refuses of values that other systems take, worked out by recursion.

Source: D-15, S-36, K-2, K-36.
"""

import math
from typing import Any

MAX_DEPTH = 200


def holds_half_a_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def scalar_rule(value: Any) -> str | None:
    if isinstance(value, str) and holds_half_a_pair(value):
        return "K-36 surrogate"
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return "K-2 negative zero"
    if isinstance(value, int) and abs(value) >= 2**53:
        return "D-15 large integer"
    return None


def refusal(value: Any, path: str = "data", depth: int = 1) -> tuple[str, str] | None:
    """Return the rule and the path of the first such value, depth first.

    Values that every system refuses are not looked for; cycles end at the depth.
    """
    if not isinstance(value, dict | list):
        rule = scalar_rule(value)
        return None if rule is None else (rule, path)
    if depth > MAX_DEPTH:
        return ("K-36 depth", path)
    if isinstance(value, list):
        children = [(f"{path}[{index}]", child) for index, child in enumerate(value)]
    else:
        children = [(f"{path}.{key}", child) for key, child in value.items()]
    found = (refusal(child, place, depth + 1) for place, child in children)
    return next((one for one in found if one is not None), None)


def mended(value: Any) -> Any:
    """Return the value with U+FFFD for each half of a pair."""
    if isinstance(value, str):
        return "".join("\ufffd" if holds_half_a_pair(c) else c for c in value)
    if isinstance(value, list):
        return [mended(child) for child in value]
    if isinstance(value, dict):
        return {mended(key): mended(child) for key, child in value.items()}
    return value
