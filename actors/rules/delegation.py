"""What a session may hand to a child, and what the child may use.

Source: L-160..L-165, K-20.
"""

from collections.abc import Collection, Sequence
from typing import Final, Literal, TypeAlias

import attrs

from actors.errors.control import (
    DelegateUnknownError,
    DelegationDepthError,
    DelegationPrecheckError,
)
from actors.rules.jobs import EndWord
from actors.rules.measure import first_units

DEPTH_LIMIT: Final = 3
DIAGNOSTIC_UNITS: Final = 4096

StopWord: TypeAlias = Literal["stop", "error", "aborted"]


@attrs.frozen(kw_only=True)
class Delegation:
    """A request to hand work to a child.

    ``available`` are the tools the child would have; None when that is unknown.
    """

    depth: int
    provider: str
    requires: tuple[str, ...] = ()
    available: tuple[str, ...] | None = None
    background: bool = False


def check_delegation(
    request: Delegation, providers: Collection[str], *, background_supported: bool = True
) -> int:
    """Return the depth of the child. Nothing was taken when this raises.

    Raises:
        DelegationDepthError: the request is nested too deep; checked first.
        DelegateUnknownError: there is no such provider.
        DelegationPrecheckError: a tool is missing, or the child cannot run in the background.

    Source: L-160, L-161.
    """
    if request.depth > DEPTH_LIMIT:
        raise DelegationDepthError(request.depth, DEPTH_LIMIT)
    if request.provider not in providers:
        raise DelegateUnknownError(request.provider)
    missing = missing_tools(request.requires, request.available)
    if request.background and not background_supported:
        missing = (*missing, "background runs")
    if missing:
        raise DelegationPrecheckError(missing)
    return request.depth + 1


def missing_tools(requires: Sequence[str], available: Collection[str] | None) -> tuple[str, ...]:
    """Return the required tools that are not there, in the order asked; an unknown list has none."""
    there = available or ()
    return tuple(tool for tool in requires if tool not in there)


def child_tools(parent: Sequence[str], wanted: Collection[str] | None = None) -> tuple[str, ...]:
    """Return the child's tools: its agent's list within the parent's, in the parent's order (K-20)."""
    return tuple(tool for tool in parent if wanted is None or tool in wanted)


def job_end(stop: StopWord) -> EndWord:
    """Return how a background child's job ends (L-165)."""
    ends: dict[StopWord, EndWord] = {"stop": "completed", "error": "failed", "aborted": "killed"}
    return ends[stop]


def diagnostic(text: str) -> str:
    """Return the start of an error text, for the parent's model (L-164)."""
    return first_units(text, DIAGNOSTIC_UNITS)
