"""The helpers here are imported by one name, however pytest was started."""

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="module")
def small_pieces():
    """Let pieces be so small that short histories meet every border between them."""
    from actors.log import stored, surface

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(surface, "PIECE", 3)
        patch.setattr(stored, "PIECE", 4)
        yield
