"""Runs vectors against the adapters of the ``ops_*.py`` modules beside this file.

An adapter is a function of a vector's input, in the ``OPS`` table of its module under the name of its
operation. It returns the output, or raises what the operation raises.
"""

import json
import lzma
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.conformance.answers import (
    Adapter,
    Answer,
    Outcome,
    Overrule,
    Unsupported,
    Vector,
    agrees,
    given,
    shortened,
)
from tests.conformance.values import build, find_inexpressible

HERE = Path(__file__).parent
NO_ADAPTER = "no adapter"


def load_directory(directory: Path) -> list[Vector]:
    """Return the vectors of all ``*.jsonl`` and ``*.jsonl.xz`` files, in order of file and operation."""
    files = sorted(p for p in directory.iterdir() if p.name.endswith((".jsonl", ".jsonl.xz")))
    vectors = [vector for file in files for vector in load_file(file)]
    return sorted(vectors, key=lambda vector: (vector.file, vector.op))


def load_file(file: Path) -> Iterator[Vector]:
    """Yield the vectors of one file."""
    raw = file.read_bytes()
    if file.suffix == ".xz":
        raw = lzma.decompress(raw)
    name = file.name.removesuffix(".xz").removesuffix(".jsonl")
    for line in raw.decode().split("\n"):
        if line.strip():
            parsed: dict[str, Any] = json.loads(line)
            yield Vector(name, parsed["id"], parsed["op"], parsed, build(parsed["input"]))


def by_operation(vectors: Sequence[Vector]) -> Mapping[tuple[str, str], Sequence[Vector]]:
    """Return sorted vectors as one group for each file and operation."""
    groups = groupby(vectors, key=lambda vector: (vector.file, vector.op))
    return {key: tuple(group) for key, group in groups}


def load_adapters() -> tuple[dict[str, Adapter], dict[str, Exception]]:
    """Return the adapters of all ``ops_*.py`` modules, and the modules that cannot be loaded.

    The second is for a test of its own, so that one module under work does not hide what the others do.
    """
    adapters: dict[str, Adapter] = {}
    broken: dict[str, Exception] = {}
    for file in sorted(HERE.glob("ops_*.py")):
        try:
            _take(adapters, import_module(f"tests.conformance.{file.stem}").OPS)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported by the test
            broken[file.name] = error
    return adapters, broken


def _take(adapters: dict[str, Adapter], more: Mapping[str, Adapter]) -> None:
    both = adapters.keys() & more.keys()
    if both:
        raise ValueError(f"another module answers {sorted(both)}")
    adapters.update(more)


def run_vector(
    vector: Vector, adapters: Mapping[str, Adapter], overrules: Sequence[Overrule]
) -> Outcome:
    """Run one vector and say what came of it."""
    adapter = adapters.get(vector.op)
    why = find_inexpressible(vector.input)
    if why is not None:
        return Outcome(vector.id, vector.op, "unsupported", why)
    if adapter is None:
        return Outcome(vector.id, vector.op, "unsupported", NO_ADAPTER)
    try:
        return judge(vector, given(adapter, vector), overrules)
    except Unsupported as unsupported:
        return Outcome(vector.id, vector.op, "unsupported", str(unsupported))
    except Exception as error:  # noqa: BLE001 - a fault of one vector is its result, the others still run
        return Outcome(vector.id, vector.op, "failed", detail=f"{type(error).__name__}: {error}")


def judge(vector: Vector, answer: Answer, overrules: Sequence[Overrule]) -> Outcome:
    """Compare with what a rule asks for where one overrules the reference, else with the reference."""
    overrule = next((o for o in overrules if vector.op in o.ops and o.applies(vector)), None)
    expected = vector.expected if overrule is None else overrule.expects(vector)
    rule = None if overrule is None else overrule.rule
    if not agrees(answer, expected):
        return Outcome(vector.id, vector.op, "failed", rule, _difference(answer, expected))
    if overrule is None or agrees(answer, vector.expected):
        return Outcome(vector.id, vector.op, "passed")
    return Outcome(vector.id, vector.op, "overruled", rule)


def _difference(answer: Answer, expected: Answer) -> str:
    return f"\n    asked: {_shown(expected)}\n    given: {_shown(answer)}"


def _shown(answer: Answer) -> str:
    value = getattr(answer, "value", answer)
    text = json.dumps(shortened(value), default=repr)
    return text if len(text) < 2000 else f"{text[:1000]} ... {text[-900:]}"
