"""Figures from their JSON lines: each scenario is measured in a process of its own."""

from typing import Any

import cattrs
import orjson

from runtime.cli.bench.figure import Figure, Outcome, Series, Target

_SIGNS = {">=": "at least", "<=": "at most"}
_converter = cattrs.Converter(forbid_extra_keys=False, detailed_validation=False)


def _target(value: Any, _: object) -> Target | None:  # noqa: ANN401 - what a JSON line holds
    if value is None:
        return None
    sign, _, bound = value.partition(" ")
    of = "ratio" if bound.endswith("x") else "value"
    return _converter.structure(
        {"word": _SIGNS[sign], "bound": float(bound.removesuffix("x")), "of": of}, Target
    )


_converter.register_structure_hook(Target | None, _target)


def read_outcome(line: bytes) -> Outcome:
    """Return what :meth:`Outcome.to_line` wrote."""
    data = orjson.loads(line)
    return Outcome(
        id=data["id"],
        title=data["title"],
        method=data["method"],
        figures=tuple(_converter.structure(one, Figure) for one in data["figures"]),
        series=tuple(_converter.structure(one, Series) for one in data["series"]),
        duration_s=data["duration_s"],
        failure=data["failure"],
    )
