"""The JSON schemas of answers. Pure."""

from typing import Final

from actors.json import JsonObject, JsonValue

TEXT: Final[JsonObject] = {"type": "string"}
INTEGER: Final[JsonObject] = {"type": "integer"}
FLAG: Final[JsonObject] = {"type": "boolean"}
NULLABLE_TEXT: Final[JsonObject] = {"type": ["string", "null"]}
ANY: Final[JsonObject] = {}
EVENT_STREAM: Final = "text/event-stream"


def record(optional: tuple[str, ...] = (), **properties: JsonObject) -> JsonObject:
    """Return the schema of an object with these properties, all needed but the ``optional`` ones."""
    needed: list[JsonValue] = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": {**properties},
        "required": needed,
        "additionalProperties": False,
    }


def listed(items: JsonObject) -> JsonObject:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def kind(word: str) -> JsonObject:
    """Return the schema of the field that says what a frame is."""
    return {"type": "string", "enum": [word]}


EVENT: Final = record(
    ("ignorable", "surfaceOp", "sourceEventSeqs"),
    seq=INTEGER,
    time=INTEGER,
    type=TEXT,
    data=ANY,
    ignorable=FLAG,
    surfaceOp=record(
        op={"type": "string", "enum": ["replace", "hide"]}, startSeq=INTEGER, endSeq=INTEGER
    ),
    sourceEventSeqs=listed(INTEGER),
)
ERROR: Final = record(kind=kind("error"), code=TEXT, message=TEXT)
ACK: Final = record(
    ("routedChannel",),
    kind=kind("ack"),
    sessionId=TEXT,
    messageId=TEXT,
    duplicate=FLAG,
    routedChannel={"type": "string", "enum": ["steer", "followUp"]},
    highWaterSeq=INTEGER,
)
DECIDE_RESULT: Final = record(
    ("decision", "source", "by"),
    kind=kind("decide-result"),
    approvalId=TEXT,
    outcome={"type": "string", "enum": ["applied", "superseded"]},
    decision=TEXT,
    source=TEXT,
    by=TEXT,
)
ENTRIES: Final = record(
    ("nextCursor",), kind=kind("entries"), sessionId=TEXT, entries=listed(EVENT), nextCursor=TEXT
)
SESSIONS: Final = record(
    kind=kind("sessions"),
    sessions=listed(record(id=TEXT, title=NULLABLE_TEXT, lastActivityAt=INTEGER)),
)
