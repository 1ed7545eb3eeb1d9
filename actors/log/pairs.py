"""Whether a range of the surface separates a call from its result.

Source: S-85, S-91, S-92 FIX, D-302, K-30, K-40.
"""

from actors.errors.log import SurfaceOpError
from actors.log.state import State


def cuts_pair(state: State, low: int, high: int) -> bool:
    """Return whether one half of a pair has its key in low..high and the other half has not.

    Results stand directly behind their call's node, so the two borders tell; only a surface that a foreign
    log left scattered is looked through.
    """
    if state.scattered:
        return _cuts_scattered_pair(state, low, high)
    first = state.surface.at_or_after(low)
    if first is None or first.key > high:
        return False
    if first.pair is not None and first.pair < low:
        return True
    behind = state.surface.at_or_after(high + 1)
    return behind is not None and behind.pair is not None and behind.pair <= high


def cuts_group(state: State, start: int, end: int) -> bool:
    """Return whether the closed interval of seqs separates an assistant node from its ``tool/call`` events."""
    before = state.surface.before(start)
    if before is not None and any(start <= call.seq <= end for call in before.calls):
        return True
    last = state.surface.before(end + 1)
    return last is not None and last.key >= start and any(call.seq > end for call in last.calls)


def balanced_cuts(state: State) -> tuple[bool, ...]:
    """Return for each place between nodes, both ends included, whether as many results as calls stand before it.

    Raises:
        SurfaceOpError: ``pairing-orphan-result``, more results than calls stand before a place (D-302).
    """
    open_calls, cuts = 0, [True]
    for node in state.surface:
        open_calls += len(node.calls) - (node.type == "tool/result")
        if open_calls < 0:
            raise SurfaceOpError("pairing-orphan-result", f"{node.seq} has no call before it")
        cuts.append(open_calls == 0)
    return tuple(cuts)


def _cuts_scattered_pair(state: State, low: int, high: int) -> bool:
    for node in state.surface:
        pair = node.pair
        if (
            pair is not None
            and (low <= node.key <= high) != (low <= pair <= high)
            and state.surface.find(pair) is not None
        ):
            return True
    return False
