"""The map at the door of the package names every file of it, and no other."""

import re
from pathlib import Path

import actors.log


def test_the_reading_order_names_every_file_once_or_more_and_no_other():
    files = {path.stem for path in Path(actors.log.__file__).parent.glob("*.py")} - {"__init__"}
    assert set(re.findall(r"``(\w+)``", actors.log.__doc__)) == files
