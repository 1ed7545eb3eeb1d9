"""The gates of an import: the reader of the reference's format, and the fold that takes its events in."""

import io
from collections.abc import Iterator
from typing import Any

from actors.errors.log import SpawnRateLimitError
from actors.log.admission import check_pairing, check_vocabulary
from actors.log.flood import SpawnWindow
from runtime.formats import berry
from runtime.formats.lines import DEFAULT_LIMITS, Line, lines
from runtime.formats.loading import load_log


def parse_import(given: dict[str, Any]) -> dict[str, Any]:
    found = berry.scan(_lines(given["text"]), DEFAULT_LIMITS.events)
    return {"meta": _meta(found.header), "events": [raw for _, raw in found.events]}


def vocabulary_gate(given: dict[str, Any]) -> str:
    check_vocabulary(given["events"])
    return "ok"


def pairing_gate(given: dict[str, Any]) -> str:
    check_pairing(given["events"])
    return "ok"


def run_import_gates(given: dict[str, Any]) -> dict[str, Any]:
    read = berry.read_berry(_lines(given["text"]), DEFAULT_LIMITS.events)
    return {"meta": _meta(read.header), "count": len(load_log(read))}


def spawn_limiter(given: dict[str, Any]) -> list[str]:
    names = {"windowMs": "period_ms", "max": "limit"}
    window = SpawnWindow(**{name: given[key] for key, name in names.items() if key in given})
    answers = []
    for now_ms in given["times"]:
        try:
            window = window.spawned(now_ms)
            answers.append("ok")
        except SpawnRateLimitError as error:
            answers.append(error.code)
    return answers


def _meta(header: dict[str, Any]) -> dict[str, Any]:
    return {key: header[key] for key in ("format", "version")}


def _lines(text: str) -> Iterator[Line]:
    return lines(io.BytesIO(text.encode("utf-8", "surrogatepass")), DEFAULT_LIMITS)


OPS = {
    "parseImport": parse_import,
    "vocabularyGate": vocabulary_gate,
    "pairingGate": pairing_gate,
    "runImportGates": run_import_gates,
    "spawnLimiter": spawn_limiter,
}
