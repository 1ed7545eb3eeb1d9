"""Settings of the user: the only reader of the environment.

A variable that is set to nothing counts as not set.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CATALOGUE: Final = "GREENROOM_MODELS"
"""The variable that names the user's own catalogue of models."""


def variable(name: str) -> str | None:
    """Return the value of an environment variable; None when it is not set."""
    return os.environ.get(name, "").strip() or None


def environment() -> Mapping[str, str]:
    """Return the whole environment, for whoever decides what a child inherits of it."""
    return dict(os.environ)


def catalogue_file() -> Path:
    """Return where the user's own catalogue of models is; it need not exist."""
    named = variable(CATALOGUE)
    return Path(named) if named is not None else _base("XDG_CONFIG_HOME", ".config") / "models.toml"


def data_folder() -> Path:
    """Return where Greenroom keeps what it installed for this user; it need not exist."""
    return _base("XDG_DATA_HOME", ".local/share")


def _base(name: str, otherwise: str) -> Path:
    given = variable(name)
    return (Path(given) if given is not None else Path.home() / otherwise) / "greenroom"
