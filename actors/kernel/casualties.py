"""Who crashed lately, and who is in quarantine for it."""

from actors.rules.restart import RestartWindow


class Casualties:
    """The crashes of all addresses of a supervisor; they outlive the actors, which come and go.

    Only what can still count is kept: crashes inside the window, and quarantines until their release.
    """

    def __init__(self, window: RestartWindow) -> None:
        self.quarantined: dict[str, str] = {}
        """The reason for each address in quarantine."""
        self._fresh = window
        self._windows: dict[str, RestartWindow] = {}  # in order of the last crash

    def crashed(self, key: str, why: str, now_s: float) -> str | None:
        """Note a crash; the reason of the quarantine when it was one too many."""
        self._drop_stale(now_s)
        window = self._windows.pop(key, self._fresh).crashed(now_s)
        if not window.exhausted:
            self._windows[key] = window
            return None
        reason = f"{why}; {len(window.crashes_s)} crashes in {window.period_s:g} s"
        self.quarantined[key] = reason
        return reason

    def release(self, key: str) -> bool:
        """Lift the quarantine, with no crash on record; False when there was none."""
        return self.quarantined.pop(key, None) is not None

    def _drop_stale(self, now_s: float) -> None:
        while self._windows:
            key, window = next(iter(self._windows.items()))
            if now_s - window.crashes_s[-1] <= window.period_s:
                return
            del self._windows[key]
