"""Random histories: moves that try to append, and what the live gates let through."""

from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.log.events import Draft, Hide, Replace
from actors.log.log import Log
from actors.log.message_projections import Projections
from actors.log.vocabulary import Vocabulary

REDACT = "demo/redact"

numbers = st.integers(0, 40)
texts = st.sampled_from(["", "a", "naïve \U0001f600", '"quoted"'])
moves = st.one_of(
    st.tuples(st.just("user"), texts, numbers),
    st.tuples(st.just("start")),
    st.tuples(st.just("reply"), texts, st.integers(0, 3), st.booleans()),
    st.tuples(st.just("results"), texts, st.integers(1, 3)),
    st.tuples(st.just("end")),
    st.tuples(st.just("turn"), texts, st.integers(0, 2)),
    st.tuples(st.just("work"), texts, st.integers(1, 3), st.integers(0, 2)),
    st.tuples(st.just("gate"), st.sampled_from(["allow", "block", "mutate"])),
    st.tuples(st.just("hide"), numbers, numbers),
    st.tuples(st.just("hide turns"), numbers, numbers),
    st.tuples(st.just("retry"), numbers),
    st.tuples(st.just("replace"), numbers, numbers, st.booleans()),
    st.tuples(st.just("rewrite"), numbers, texts),
    st.tuples(st.just("system"), texts),
    st.tuples(st.just("ask"), st.integers(0, 2)),
    st.tuples(st.just("decide"), st.integers(0, 2)),
    st.tuples(st.just("compact"), numbers, numbers),
    st.tuples(
        st.just("note"), st.sampled_from(["llm/usage", "session/closed", "session/reopened"])
    ),
    st.tuples(st.just("queue"), st.integers(0, 3), st.integers(0, 1)),
    st.tuples(st.just("redact"), st.lists(numbers, max_size=2)),
    st.tuples(st.just("header"), texts),
)
openings = st.lists(st.tuples(st.just("turn"), texts, st.integers(0, 2)), max_size=4)
plays = st.builds(list.__add__, openings, st.lists(moves, max_size=25))


def redact(event, context):
    """Take the text of each target away."""
    data = event.data()
    return {seq: [{"type": "text", "text": "gone"}] for seq in data["targets"]}


def new_log() -> Log:
    vocabulary = Vocabulary()
    vocabulary.register(REDACT, owner="demo", projection=True)
    handlers = Projections()
    handlers.register(REDACT, redact, owner="demo")
    return Log(vocabulary, projections=handlers)


def reload(log: Log, events) -> Log:
    """Fold events from scratch as ``log`` would."""
    fresh = new_log()
    fresh.replay(*events)
    return fresh


class Player:
    """Plays moves on a log; a move that the log refuses is a part of the game."""

    def __init__(self, log: Log | None = None) -> None:
        self.log = log or new_log()
        self.calls = 0
        self.refused: list[str] = []

    def play(self, move) -> bool:
        """Append what the move asks for, return whether it was accepted."""
        drafts = getattr(self, "_" + move[0].replace(" ", "_"))(*move[1:])
        if not drafts:
            return False
        try:
            self.log.append(*drafts, time_ms=len(self.log))
        except GreenroomError as refusal:
            self.refused.append(getattr(refusal, "rule", refusal.code))
            return False
        return True

    def _node(self, number):
        nodes = self.log.fold.nodes
        return nodes[number % len(nodes)] if nodes else 0

    def _user(self, text, number):
        return [Draft("user/message", {"content": text, "id": f"m{number % 7}", "dedupeKey": text})]

    def _start(self):
        return [Draft("turn/start", {"turn": self.log.fold.turns + 1})]

    def _reply(self, text, calls, failed):
        reply = {"content": [{"type": "text", "text": text}] if text else []}
        reply["stopReason"] = "error" if failed else "stop"
        return [Draft("assistant/message", reply), *(self._call() for _ in range(calls))]

    def _call(self):
        self.calls += 1
        name = f"c{self.log.fold.turns}-{self.calls % 9}-{len(self.log)}"
        return Draft(
            "tool/call", {"toolCallId": name, "name": "read", "arguments": "{}", "turn": 1}
        )

    def _results(self, text, count):
        waiting = list(self.log.fold.open_calls)[:count]
        return [Draft("tool/result", {"toolCallId": name, "content": text}) for name in waiting]

    def _end(self):
        return [Draft("turn/end", {"reason": "completed"})]

    def _turn(self, text, calls):
        made = [self._call() for _ in range(calls)]
        results = [
            Draft(
                "tool/result",
                {"toolCallId": call.data["toolCallId"], "content": text, "error": True},
            )
            for call in made
        ]
        user, reply = self._user(text, len(self.log)), Draft("assistant/message", {"content": text})
        return [*user, *self._start(), reply, *made, *results, *self._end()]

    def _work(self, text, calls, answered):
        """Let the open turn, or a new one, make calls and answer some of them."""
        start = [] if self.log.fold.open_turn else self._start()
        made = [self._call() for _ in range(calls)]
        results = [
            Draft("tool/result", {"toolCallId": call.data["toolCallId"], "content": text})
            for call in made[:answered]
        ]
        return [*start, Draft("assistant/message", {"content": text}), *made, *results]

    def _gate(self, decision):
        name = next(iter(self.log.fold.open_calls), "none")
        return [Draft("gate/decision", {"toolCallId": name, "decision": decision})]

    def _hide(self, first, last):
        length = max(len(self.log), 1)
        start, end = sorted((first % length, last % length))
        return [Draft("compaction/surface", {}, Hide(start, end))]

    def _hide_turns(self, first, last):
        starts = [event.seq for event in self.log.events_of_type("turn/start")]
        ends = [event.seq for event in self.log.events_of_type("turn/end")]
        if not starts or not ends:
            return []
        start, end = starts[first % len(starts)], ends[last % len(ends)]
        return [Draft("compaction/surface", {}, Hide(max(start - first % 2, 0), end))]

    def _retry(self, number):
        """Fail a turn and hide it; three of four times something about it is wrong."""
        length = len(self.log)
        reply = Draft("assistant/message", {"content": "", "stopReason": "error"})
        start = length + 2 - (number % 4 == 1)
        phase = "exhausted" if number % 4 == 2 else "scheduled"
        hide = Hide(start, length + 3 - (number % 4 == 3))
        failed = [*self._user("f", number), *self._start(), reply, *self._end()]
        return [*failed, Draft("llm/retry", {"phase": phase}, hide)]

    def _replace(self, first, last, is_system):
        nodes = self.log.fold.nodes or (0,)
        ends = first % len(nodes), last % len(nodes)
        low, high = ends if first % 5 == 0 else sorted(ends)
        start, end = nodes[low], nodes[high]
        word = "system/message" if is_system else "user/message"
        covered = self.log.fold.between(start, end)
        return [Draft(word, {"content": "summary"}, Replace(start, end), covered or (0,))]

    def _rewrite(self, number, text):
        target = self._node(number)
        data = self.log.event(target).data() if len(self.log) else {}
        return [Draft("tool/result", {**data, "content": text}, Replace(target, target), (target,))]

    def _system(self, text):
        return [Draft("system/message", {"content": text})]

    def _ask(self, number):
        return [Draft("approval/asked", {"approvalId": f"a{number}-{len(self.log)}"})]

    def _decide(self, number):
        name = next(iter(self.log.fold.open_asks), f"a{number}")
        return [Draft("approval/decided", {"approvalId": name, "decision": "approve"})]

    def _compact(self, first, last):
        (summary,) = self._replace(first, last, False)
        return [
            Draft("compaction/start", {}),
            summary,
            Draft("compaction/end", {"reason": "completed", "ccrHash": "h"}),
        ]

    def _note(self, word):
        return [Draft(word, {})]

    def _queue(self, number, removed):
        data = {
            "target": "next-turn",
            "start": 0,
            "inserted": [{"id": f"q{number}", "content": "x"}],
        }
        if removed:
            data["removedCount"] = 1
        return [Draft("agent/inbox/spliced", data)]

    def _redact(self, targets):
        return [Draft(REDACT, {"targets": [self._node(target) for target in targets]})]

    def _header(self, model):
        return [Draft("request/header", {"header": {"config": {"provider": "p", "model": model}}})]


def picture(log: Log, *, with_events: bool = True):
    """Everything that a log says of itself, in values that do not change."""
    fold = log.fold
    return {
        "events": tuple(log.events()) if with_events else None,
        "nodes": fold.nodes,
        "messages": tuple(log.projection().messages),
        "units": fold.projected_units,
        "generations": (fold.replace_generation, fold.content_generation),
        "hidden": fold.hidden,
        "head": fold.system_head,
        "turn": (
            fold.open_turn,
            fold.open_step,
            fold.turns,
            fold.first_turn_end,
            fold.last_turn_end,
        ),
        "calls": tuple(fold.open_calls.items()),
        "asks": tuple(fold.open_asks.items()),
        "compaction": fold.open_compaction,
        "dedupe": dict(fold.dedupe),
        "inbox": fold.inbox,
        "header": fold.header,
        "context": fold.context,
        "closed": (fold.closed, fold.title),
        "closers": log.closers(),
        "cut": log.fork_cut(),
    }
