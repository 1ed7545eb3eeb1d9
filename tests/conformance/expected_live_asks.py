"""What becomes of asks when every watcher is shown every open one; knows nothing of the engine.

An ask is shown when it is raised (K-18): several may be open in one session, and are answered in any order
(scenario S-23). Who cannot answer does not watch.

Source: A-31..A-33, N-5, N-6, N-24, K-18.
"""

from typing import Any


class _Ask:
    def __init__(self, spec: dict[str, Any], capable: list[str]) -> None:
        self.summary = spec["summary"]
        self.suggested = spec.get("suggested")
        self.showing = list(capable)
        self.trace = [f"shown:{name}:{self.summary}" for name in capable]
        self.word: str | None = None
        if spec.get("pre_aborted"):
            self.showing, self.trace = [], []
            self.end("cancel")
        elif not capable:
            self.end("unavailable")

    def end(self, word: str) -> None:
        if self.word is None:
            self.word = word
            self.trace += [f"withdrawn:{name}:{self.summary}" for name in self.showing]
            self.trace.append(f"settled:{self.summary}:{word}")

    def answered(self, by: str, word: str) -> None:
        if by in self.showing:
            self.end(word)

    def failed(self, by: str) -> None:
        if self.word is None and by in self.showing:
            self.showing.remove(by)
            self.trace.append(f"withdrawn:{by}:{self.summary}")
            if not self.showing:
                self.end("unavailable")


def expected_race(given: dict[str, Any]) -> dict[str, Any]:
    """Return the output of a race."""
    capable = [name for name in given["backends"] if not name.endswith("-mute")]
    asks = {spec["summary"]: _Ask(spec, capable) for spec in given["asks"]}
    for verb, *args in given["steps"]:
        if verb == "abort":
            asks[args[0]].end("cancel")
        elif verb == "fail":
            asks[args[1]].failed(args[0])
        else:
            asks[args[1]].answered(args[0], args[2])
    always = [a.suggested for a in asks.values() if a.word == "always" and a.suggested]
    return {
        "trace": [line for ask in asks.values() for line in ask.trace],
        "answers": {name: ask.word for name, ask in asks.items() if ask.word is not None},
        "policy_writes": list(dict.fromkeys(always)),
        "unanswered": [name for name, ask in asks.items() if ask.word is None],
    }


def expected_line(given: dict[str, Any]) -> list[str]:
    """Return the output of a line of asks."""
    waiting: dict[str, list[str]] = {}
    said: list[str] = []
    for verb, session, *args in given["steps"]:
        asks = waiting.setdefault(session, [])
        if verb == "enqueue":
            asks.append(args[0])
            said.append(f"start:{args[0]}")
        elif verb == "settled":
            del asks[:1]
        elif verb == "cancel":
            asks[:] = [ask for ask in asks if ask != args[0]]
        elif verb == "clear":
            said += [f"cancel:{ask}" for ask in asks]
            asks.clear()
        else:
            said.append("pending:" + ",".join(asks))
    return said
