"""The entry point of the command, which says what is missing when the extra is not installed."""

import sys

_NEEDED = frozenset(("click", "rich"))


def main() -> None:
    """Run the command line and leave the process with its exit status."""
    try:
        from runtime.cli.app import app
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in _NEEDED:
            raise
        sys.exit(f"greenroom: the command line needs {package}: pip install 'greenroom[cli]'")
    app()
