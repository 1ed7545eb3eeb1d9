"""The gates of an import, in the format of the reference."""

from typing import Any

from actors.errors.log import SpawnRateLimitError
from actors.log.admission import (
    LogFormat,
    ParsedLog,
    check_pairing,
    check_vocabulary,
    parse_log,
    run_gates,
)
from actors.log.flood import SpawnWindow

BERRY = LogFormat("berry-agent/session", 1)


def parse_import(given: dict[str, Any]) -> dict[str, Any]:
    parsed = parse_log(given["text"], BERRY)
    return {"meta": _meta(parsed), "events": parsed.events}


def vocabulary_gate(given: dict[str, Any]) -> str:
    check_vocabulary(given["events"])
    return "ok"


def pairing_gate(given: dict[str, Any]) -> str:
    check_pairing(given["events"])
    return "ok"


def run_import_gates(given: dict[str, Any]) -> dict[str, Any]:
    parsed = run_gates(given["text"], BERRY)
    return {"meta": _meta(parsed), "count": len(parsed.events)}


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


def _meta(parsed: ParsedLog) -> dict[str, Any]:
    return {"format": parsed.format.name, "version": parsed.format.version}


OPS = {
    "parseImport": parse_import,
    "vocabularyGate": vocabulary_gate,
    "pairingGate": pairing_gate,
    "runImportGates": run_import_gates,
    "spawnLimiter": spawn_limiter,
}
