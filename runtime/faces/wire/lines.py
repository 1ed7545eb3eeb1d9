"""One JSON text a line. Pure.

Source: H-55.
"""

from typing import Final

import orjson

from actors.json import JsonObject

_SEPARATORS: Final = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
"""Line ends to JavaScript, but not in JSON: they are escaped, so that nobody cuts a line there."""


def split_lines(remainder: str, chunk: str) -> tuple[list[str], str]:
    """Return the lines that ``chunk`` completes, without empty ones, and the new remainder.

    Only a line feed ends a line; one carriage return before it is taken off.
    """
    *complete, rest = (remainder + chunk).split("\n")
    lines = [line.removesuffix("\r") for line in complete]
    return [line for line in lines if line], rest


def one_line(frame: JsonObject) -> str:
    """Return the frame as JSON text without a line end in it."""
    text = orjson.dumps(frame).decode()
    for separator, escaped in _SEPARATORS:
        text = text.replace(separator, escaped)
    return text


def encode_line(frame: JsonObject) -> str:
    """Return the frame as one line."""
    return one_line(frame) + "\n"
