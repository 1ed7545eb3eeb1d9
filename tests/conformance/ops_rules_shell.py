"""What a shell says."""

from typing import Any

from actors.errors.rules import SettingError
from runtime.tools.shell_text import (
    OutputTail,
    ParsedExit,
    ShellResult,
    StreamText,
    is_scrubbed,
    parse_exit,
    render_read,
    render_result,
)
from runtime.tools.shell_text import clamp_timeout as clamp
from tests.conformance.answers import Refused


def _parsed(parsed: ParsedExit) -> dict[str, Any]:
    if parsed.signal is not None:
        return {"body": parsed.body, "signal": parsed.signal}
    return {"body": parsed.body, "exitCode": parsed.exit_code}


def exit_status_parse(given: dict[str, Any]) -> dict[str, Any]:
    return _parsed(parse_exit(given["text"]))


def shell_render(given: dict[str, Any]) -> dict[str, Any]:
    result = given["result"]
    text = render_result(
        ShellResult(
            exit_code=result["exitCode"],
            signal=result["signal"],
            timed_out=result["timedOut"],
            timeout_ms=result["timeoutMs"],
            stdout=_stream(result["stdout"]),
            stderr=_stream(result["stderr"]),
        )
    )
    return {"text": text, "parsed": _parsed(parse_exit(text))}


def _stream(stream: dict[str, Any]) -> StreamText:
    path = stream.get("spillPath")
    return StreamText(text=stream["text"], truncated=stream["truncated"], spill_path=path)


def shell_read_render(given: dict[str, Any]) -> dict[str, Any]:
    read = given["read"]
    paths = [read[key] for key in ("stdoutSpillPath", "stderrSpillPath") if read.get(key)]
    return {"text": render_read(read["delta"], lossy=read["lossy"], spill_paths=paths)}


def clamp_timeout(given: dict[str, Any]) -> dict[str, Any]:
    requested = given["requested"]
    if isinstance(requested, str):
        requested = float(requested.lower())
    try:
        return {"timeoutMs": clamp(requested, given["default"], given["max"])}
    except SettingError as error:
        raise Refused("not-positive-finite") from error


def output_tail(given: dict[str, Any]) -> dict[str, Any]:
    tail, offset, reads = OutputTail(max_bytes=given["maxBytes"]), 0, []
    for chunk, then_read in zip(given["chunks"], given["readAfter"], strict=True):
        tail = tail.pushed(chunk.encode())
        if then_read:
            read = tail.read(offset)
            reads.append(
                {
                    "from": offset,
                    "text": read.data.decode(),
                    "nextOffset": read.next_offset,
                    "lossy": read.lossy,
                }
            )
            offset = read.next_offset
    return {"reads": reads, "final": {"text": tail.data.decode(), "truncated": tail.truncated}}


def env_scrub(given: dict[str, Any]) -> dict[str, Any]:
    return {"kept": not is_scrubbed(given["name"], "DSH_")}


OPS = {
    "exit_status_parse": exit_status_parse,
    "shell_render": shell_render,
    "shell_read_render": shell_read_render,
    "clamp_timeout": clamp_timeout,
    "output_tail": output_tail,
    "env_scrub": env_scrub,
}
