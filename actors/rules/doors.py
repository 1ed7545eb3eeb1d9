"""Capabilities that stay closed until the user opens them.

Source: L-131, C-52, C-53.
"""

from collections.abc import Collection
from typing import Final, Literal, TypeAlias

CONTROL_CROSS: Final = "sessions.control-cross"

DoorWord: TypeAlias = Literal["open", "door-closed", "not-a-door"]


def judge_door(opened: Collection[str], capability: str, grantable: Collection[str]) -> DoorWord:
    """Return whether the user opened the door.

    Args:
        opened: what the user granted; unknown names in it make no doors.
        capability: what the caller wants to use.
        grantable: the capabilities of the catalogue that have a door. Another one is a mistake of the program.
    """
    if capability not in grantable:
        return "not-a-door"
    return "open" if capability in opened else "door-closed"
