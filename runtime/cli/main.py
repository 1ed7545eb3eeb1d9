"""The entry point of the command, which says what is missing when the extra is not installed."""

import sys

_NEEDED = {"click": "cli", "rich": "cli", "starlette": "http", "hypercorn": "http"}
"""Packages that a command imports, and the extra that brings each."""
_INTERRUPTED = 130
"""As in :mod:`runtime.cli.failure`, which needs click."""


def main() -> None:
    """Run the command line and leave the process with its exit status."""
    try:
        from runtime.cli.app import app

        app()
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in _NEEDED:
            raise
        extra = _NEEDED[package]
        sys.exit(f"greenroom: this needs {package}: pip install 'greenroom[{extra}]'")
    except KeyboardInterrupt:  # while modules are imported; what runs settles by itself
        sys.exit(_INTERRUPTED)
