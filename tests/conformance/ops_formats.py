"""Names, lines, frames and packed rows of DSH's storage."""

import io
from base64 import b64decode
from typing import Any

from runtime.formats.dsh_paths import encode_segment, project_key
from runtime.formats.dsh_rows import decode_row, is_row, pack_rows
from runtime.formats.dsh_scan import scan
from runtime.formats.frames import scan_frames
from runtime.formats.lines import lines


def segment(given: dict[str, Any]) -> dict[str, Any]:
    return {"segment": encode_segment(given["raw"])}


def key(given: dict[str, Any]) -> dict[str, Any]:
    return {"key": project_key(given["cwd"])}


def jsonl_scan(given: dict[str, Any]) -> dict[str, Any]:
    text = io.BytesIO(given["text"].encode())
    found = scan(lines(text, blanks=True), max_events=1000)
    return {
        "id": found.header["id"],
        "seqs": [event["seq"] for _, event in found.events],
        "committedBytes": found.committed_bytes,
        "totalBytes": found.total_bytes,
    }


def zstd_scan(given: dict[str, Any]) -> dict[str, Any]:
    found = scan_frames(io.BytesIO(b64decode(given["b64"])))
    torn = {} if found.torn_start is None else {"tornStart": found.torn_start}
    return {"frames": [{"start": f.start, "end": f.end} for f in found.frames], **torn}


def v0_pack_rows(given: dict[str, Any]) -> dict[str, Any]:
    return {"rows": pack_rows(given["events"])}


def v0_decode_row(given: dict[str, Any]) -> dict[str, Any]:
    row = given["row"]
    return {"events": decode_row(row) if isinstance(row, dict) and is_row(row) else [row]}


OPS = {
    "encode_segment": segment,
    "project_key": key,
    "jsonl_scan": jsonl_scan,
    "zstd_scan": zstd_scan,
    "v0_pack_rows": v0_pack_rows,
    "v0_decode_row": v0_decode_row,
}
