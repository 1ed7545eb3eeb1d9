"""The gates that the events of a log from elsewhere pass before they are folded.

They come behind the form and the identity of the file, which its reader checks, and before the fold, which
checks what each surface operation does to the surface (so no range can be forged). How many logs may come
in is :class:`actors.log.flood.SpawnWindow`'s to say.

Source: S-120..S-126.
"""

from collections.abc import Iterable, Sequence

from actors.errors.log import ImportFormatError, UnknownEventTypeError
from actors.json import JsonObject
from actors.log.project import inline_calls
from actors.log.vocabulary import CORE, Vocabulary


def check_vocabulary(events: Iterable[JsonObject], vocabulary: Vocabulary = CORE) -> None:
    """Check that every event is of a known type or marked ``ignorable: true``.

    Raises:
        UnknownEventTypeError: one is neither; the whole file is refused.
    """
    for event in events:
        if event.get("ignorable") is not True and not vocabulary.knows(str(event["type"])):
            raise UnknownEventTypeError(str(event["type"]))


def check_pairing(events: Sequence[JsonObject]) -> None:
    """Check that seqs have no hole and that :class:`Pairing` has nothing to say.

    Raises:
        ImportFormatError: ``seq-break`` (first, for the whole file), ``turn-extra`` or ``result-extra``.
    """
    for position, event in enumerate(events):
        if event.get("seq") != position:
            raise ImportFormatError("seq-break", f"seq {event.get('seq')} stands at {position}")
    pairing = Pairing()
    for event in events:
        pairing.follow(event)


class Pairing:
    """Follows a log: no turn ends before it started, and no result precedes its call.

    What is merely left open is accepted: recovery closes it.

    Source: S-124.
    """

    def __init__(self) -> None:
        self._open_turns = 0
        self._called: set[object] = set()

    def follow(self, event: JsonObject) -> None:
        """Take the next event in; an id that is no text is not looked at.

        Raises:
            ImportFormatError: ``turn-extra`` or ``result-extra``.
        """
        data = event.get("data")
        fields = data if isinstance(data, dict) else {}
        call_id = fields.get("toolCallId")
        match event["type"]:
            case "turn/start":
                self._open_turns += 1
            case "turn/end":
                self._open_turns -= 1
                if self._open_turns < 0:
                    raise ImportFormatError(
                        "turn-extra", f"turn/end at {event['seq']} ends no turn"
                    )
            case "assistant/message":
                self._called.update(block["id"] for block in inline_calls(fields))
            case "tool/call" if isinstance(call_id, str):
                self._called.add(call_id)
            case "tool/result" if isinstance(call_id, str) and call_id not in self._called:
                raise ImportFormatError(
                    "result-extra", f"no call precedes the result at {event['seq']}"
                )
