"""How much memory this process holds."""

import resource
from pathlib import Path

_PAGE_BYTES = resource.getpagesize()
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int | None:
    """Return the resident set of this process, or None where the system does not say it now."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return None
