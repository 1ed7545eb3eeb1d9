"""What a typed line means: input for the model, a command, or an answer. Pure."""

from typing import Final, Literal, TypeAlias

import attrs

from actors.session.ask import ClientWord

Name: TypeAlias = Literal["fork", "compact", "queue", "resume", "cost", "help", "quit"]

HELP: Final = """\
/fork [SEQ]        go on in a copy of this session, up to the last turn or an event
/compact           let the model summarise the older part
/queue             show what waits; /queue drop N, /queue hold, /queue release
/resume [SESSION]  list the sessions of the store, or go on in one
/cost              what this session has used
/help              this list
/quit              leave (also Ctrl-D)
Ctrl-C ends the running turn. A line that is typed during a turn joins it at its next step.
A line that ends with \\ goes on in the next; // at the start of a line stands for one /."""

_NAMES: Final[dict[str, Name]] = {
    "/fork": "fork",
    "/compact": "compact",
    "/queue": "queue",
    "/resume": "resume",
    "/cost": "cost",
    "/help": "help",
    "/quit": "quit",
    "/exit": "quit",
}
_ANSWERS: Final[dict[str, ClientWord]] = {
    "y": "approve",
    "yes": "approve",
    "n": "reject",
    "no": "reject",
    "a": "always",
    "always": "always",
    "c": "cancel",
    "cancel": "cancel",
}


@attrs.frozen
class Command:
    """A command and its words."""

    name: Name
    words: tuple[str, ...] = ()


@attrs.frozen
class Unknown:
    """A line that looks like a command and is none."""

    word: str


@attrs.frozen
class Say:
    """Input for the model."""

    text: str


Meaning: TypeAlias = Command | Unknown | Say


def meaning(line: str) -> Meaning:
    """Return what a line means; a second slash at its start says that it is no command."""
    if not line.startswith("/"):
        return Say(line)
    if line.startswith("//"):
        return Say(line[1:])
    word, *words = line.split()
    name = _NAMES.get(word)
    return Command(name, tuple(words)) if name is not None else Unknown(word)


def answer(line: str) -> ClientWord | None:
    """Return the answer that a line gives to an ask; None when it gives none."""
    return _ANSWERS.get(line.strip().lower())
