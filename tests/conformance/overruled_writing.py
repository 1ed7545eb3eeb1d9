"""Where a rule overrules the reference on the way to the disk."""

from tests.conformance.answers import Output, Overrule, Vector

FAILED = "STORE_UNAVAILABLE"
DAMAGED = "PERSIST_DATA_CORRUPT"
STALE = "STORE_CONFLICT"


def _fails_first(vector: Vector) -> bool:
    return bool(vector.input.get("failFirst"))


def _told_at_once(vector: Vector) -> Output:
    """K-26: whoever waits for a failed write is told; the store itself tries nothing again."""
    output = vector.raw["output"]
    return Output({**output, "ops": output["ops"][:1], "delays": [], "flush": FAILED})


def _is_poisoned(vector: Vector) -> bool:
    return bool(vector.input.get("poison"))


def _told_of_the_loss(vector: Vector) -> Output:
    """S-173 FIX: a flush over a severed session fails, and so does whatever is appended to it later."""
    output = vector.raw["output"]
    then = vector.input.get("thenWrites")
    told = [STALE if session in output["severed"] else "queued" for session, _ in then or ()]
    late = next((code for code in told if code != "queued"), "ok")
    second = None if then is None else {"enqueue": told, "flush": late}
    return Output({**output, "flush": DAMAGED, "second": second})


WRITING_OVERRULED = (
    Overrule("K-26", {"writeBehind"}, _fails_first, _told_at_once),
    Overrule("S-173, K-26", {"writeBehind"}, _is_poisoned, _told_of_the_loss),
)
