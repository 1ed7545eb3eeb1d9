"""Short ways to write a log down in a test."""

from actors.log.events import Draft, Hide, Replace
from actors.log.log import Log


def user(content="hi", **more):
    return Draft("user/message", {"content": content, **more})


def system(content="be brief"):
    return Draft("system/message", {"content": content})


def reply(content="ok", **more):
    return Draft("assistant/message", {"content": content, **more})


def call(name, tool="read", arguments="{}", **more):
    return Draft("tool/call", {"toolCallId": name, "name": tool, "arguments": arguments, **more})


def result(name, content="done", **more):
    return Draft("tool/result", {"toolCallId": name, "content": content, **more})


def start(number=None):
    return Draft("turn/start", {} if number is None else {"turn": number})


def end(reason="completed"):
    return Draft("turn/end", {"reason": reason})


def usage():
    return Draft("llm/usage", {})


def hide(first, last, sources=None):
    return Draft("compaction/surface", {}, Hide(first, last), sources)


def retry(first, last, phase="scheduled"):
    return Draft("llm/retry", {"phase": phase}, Hide(first, last))


def summary(first, last, sources, content="summary"):
    return Draft("user/message", {"content": content}, Replace(first, last), sources)


def log_of(*drafts) -> Log:
    """Append the drafts one after another, each at the time of its seq."""
    log = Log()
    for draft in drafts:
        log.append(draft, time_ms=len(log))
    return log


TURN = (user(), start(), reply(), call("c"), result("c"), end())
"""A closed turn of six events with one call."""
