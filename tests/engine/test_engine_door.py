"""The door of the package: all its names, each imported when it is asked for."""

import subprocess
import sys

import pytest

import runtime


def test_every_name_of_the_door_is_there_and_no_other() -> None:
    assert set(runtime.__all__) == set(dir(runtime))
    assert all(getattr(runtime, name) is not None for name in runtime.__all__)
    with pytest.raises(AttributeError, match="no attribute 'open_motor'"):
        _ = runtime.open_motor  # type: ignore[attr-defined]


def test_the_command_begins_without_the_engine_so_that_it_can_take_ctrl_c() -> None:
    show = "import runtime.cli.main, sys; print([m for m in ('trio', 'click') if m in sys.modules])"

    ended = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)

    assert ended.stdout == "[]\n"
