"""The helpers of other folders are imported by one name, however pytest was started."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for place in (ROOT, ROOT / "tests" / "session"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
