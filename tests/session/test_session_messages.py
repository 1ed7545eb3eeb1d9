"""The frozen messages are the only way to change a session, in the order of its mailbox (K-23)."""

import ast
from pathlib import Path

import attrs
import pytest
import trio
from promises import keeps_its_promises, of

from actors.session import messages
from actors.session.messages import MAIL, Append, Interrupt
from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from runtime import Session, open_engine
from runtime.stores.memory import MemoryStore

ROOT = Path(__file__).parents[2]


def test_every_message_is_frozen_and_public():
    for kind in (*MAIL, Interrupt):
        assert kind.__module__ == messages.__name__
        assert attrs.has(kind)
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            kind.__setattr__(object.__new__(kind), "anything", 1)


def test_nobody_outside_the_session_actor_writes_to_a_journal():
    """The journal is the one door to a log; only the actor, its turn and its calls have it."""
    users = set()
    for folder in ("actors", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text())
            names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            if "journal" in names:
                users.add(path.relative_to(ROOT).parts[:2])
    assert users == {("actors", "session")}


class Witness(MemoryStore):
    """Notes every write, and the messages that were sent before it."""

    def __init__(self):
        super().__init__()
        self.writes = 0

    async def append(self, session_id, events, *, expected_seq, epoch):
        self.writes += 1
        await super().append(session_id, events, expected_seq=expected_seq, epoch=epoch)


async def test_each_verb_that_changes_a_session_is_one_message(monkeypatch):
    sent = []
    store = Witness()
    async with open_engine(store, model=ScriptedModel(lambda _r: Say("ok"))) as engine:
        stage = engine._stage
        send = stage.send

        async def noting(session_id, message):
            sent.append(message)
            return await send(session_id, message)

        monkeypatch.setattr(stage, "send", noting)
        session = await engine.create(id="s")
        await session.run("hi")
        await session.queue.hold()
        verbs = {
            "append": lambda: session.append("todo/write", {"items": []}),
            "append_all": lambda: session.append_all([("todo/write", {"items": []})]),
            "occlude": lambda: session.occlude(0, 0, summary="short"),
            "prompt": lambda: session.prompt("later", message_id="m"),
            "edit": lambda: session.queue.edit("m", "sooner"),
            "move": lambda: session.queue.move("m", "next-step"),
            "withdraw": lambda: session.queue.withdraw("m"),
            "fork": session.fork,
            "rename": lambda: session.rename("a title"),
            "close": session.close,
            "reopen": session.reopen,
            "a child": lambda: engine.create(parent="s"),
        }
        for name, verb in verbs.items():
            sent.clear()
            before = store.writes
            await verb()
            changing = [m for m in sent if not type(m).__name__.startswith("Read")]
            assert len(changing) == 1, name
            assert type(changing[0]) in MAIL
            assert store.writes - before <= 1, name
        await keeps_its_promises(engine, session)


async def test_messages_take_effect_in_the_order_in_which_they_were_put():
    async with open_engine() as engine:
        session = await engine.create()
        ref = engine._stage.actors.ref(session.id)
        replies = [
            ref.tell_nowait(Append("todo/write", {"items": [], "n": number}))
            for number in range(40)
        ]
        events = [await reply.wait() for reply in replies]
        stored = await keeps_its_promises(engine, session)
    assert [event.seq for event in events] == list(range(40))
    assert [d["n"] for d in of(stored, "todo/write")] == list(range(40))


async def test_the_verbs_are_sugar_over_send():
    async with open_engine() as engine:
        session: Session = await engine.create()
        event = await session.send(Append("todo/write", {"items": []}))
        assert event.seq == 0
        assert (await session.append("todo/write", {"items": []})).seq == 1
        await trio.lowlevel.checkpoint()
