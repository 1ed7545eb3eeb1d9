"""What a vector asks and what came of it, and how the two are compared."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, TypeAlias

import attrs

from actors.errors import GreenroomError
from actors.log.json_equality import json_equal
from actors.log.json_text import escaped_bytes, quoted, units

Status: TypeAlias = Literal["passed", "failed", "overruled", "unsupported"]
Adapter: TypeAlias = Callable[[dict[str, Any]], object]

LONG_UNITS = 1500
"""Longer strings stand in a vector as their measures, with so much of both ends:"""
HEAD_UNITS = 24
TAIL_UNITS = 40


class Unsupported(Exception):  # noqa: N818 - it is no failure
    """An adapter raises it for an input that Python cannot express; say why."""


class Refused(Exception):  # noqa: N818 - the vector's own word for it
    """An adapter raises it to answer with an error that is no GreenroomError, such as ``RangeError``."""

    def __init__(self, code: str, *, rule: str | None = None, path: str | None = None) -> None:
        super().__init__(code)
        self.code, self.rule, self.path = code, rule, path


@attrs.frozen
class Output:
    """The operation gave a value."""

    value: Any


@attrs.frozen
class Failure:
    """The operation refused. As an expectation, None and () ask for nothing.

    ``code`` may also be a rule word: some vectors name the check that failed instead of a code.
    """

    code: str
    rule: str | None = None
    path: str | None = None
    mentions: tuple[str, ...] = ()


Answer: TypeAlias = Output | Failure


@attrs.frozen
class Vector:
    """One line of a vector file; ``raw`` is the line as it was parsed, ``input`` has its values built."""

    file: str
    id: str
    op: str
    raw: Mapping[str, Any]
    input: dict[str, Any]

    @property
    def quirk(self) -> str | None:
        """The label of a known oddity of the reference."""
        return self.raw.get("quirk")

    @property
    def expected(self) -> Answer:
        """What the reference answered."""
        error = self.raw.get("error")
        if error is None:
            return Output(self.raw["output"])
        if isinstance(error, dict):
            return Failure(error["code"], mentions=tuple(error.get("mentions", ())))
        return Failure(error, self.raw.get("rule"), self.raw.get("path"))


@attrs.frozen
class Overrule:
    """A rule that gives another answer than the reference.

    ``applies`` looks at what the vector holds (never at its id alone); ``expects`` computes the answer
    that the rule asks for, independently of the code under test.
    """

    rule: str
    ops: frozenset[str] = attrs.field(converter=frozenset)
    applies: Callable[[Vector], bool]
    expects: Callable[[Vector], Answer]


@attrs.frozen
class Outcome:
    """What came of one vector; ``detail`` is for the reader of a failure."""

    id: str
    op: str
    status: Status
    rule: str | None = None
    detail: str = ""


def given(adapter: Adapter, vector: Vector) -> Answer:
    """Run the operation and return its answer.

    Raises:
        Unsupported: the adapter cannot express the input.
    """
    try:
        return Output(adapter(vector.input))
    except (GreenroomError, Refused) as error:
        rule, path = getattr(error, "rule", None), getattr(error, "path", None)
        return Failure(error.code, rule, path, (str(error),))


def agrees(answer: Answer, expected: Answer) -> bool:
    """Return whether ``answer`` is what was expected."""
    if isinstance(answer, Output) and isinstance(expected, Output):
        return json_equal(shortened(answer.value), shortened(expected.value))
    if isinstance(answer, Failure) and isinstance(expected, Failure):
        text = answer.mentions[0] if answer.mentions else ""
        return (
            expected.code in (answer.code, answer.rule)
            and expected.rule in (None, answer.rule)
            and expected.path in (None, answer.path)
            and all(mention in text for mention in expected.mentions)
        )
    return False


def shortened(value: Any) -> Any:
    """Return the value with tuples as lists and long strings as their measures, as vectors have them."""
    if isinstance(value, str) and units(value) > LONG_UNITS:
        return {"$long": measures(value)}
    if isinstance(value, Mapping):
        return {key: shortened(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(child) for child in value]
    return value


def measures(text: str) -> dict[str, Any]:
    """Return what a vector says of a long string."""
    wide = text.encode("utf-16-le", "surrogatepass")
    return {
        "units": units(text),
        "escapedBytes": escaped_bytes(text),
        "sha256": sha256(quoted(text).encode()).hexdigest(),
        "head": wide[: 2 * HEAD_UNITS].decode("utf-16-le", "surrogatepass"),
        "tail": wide[-2 * TAIL_UNITS :].decode("utf-16-le", "surrogatepass"),
    }
