"""The commands that look after a store; what each does is in :mod:`runtime.cli.upkeep`."""

from pathlib import Path
from typing import Final

import click

from runtime.cli.failure import told_plainly

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class _Duration(click.ParamType[float]):
    """A number with its unit; becomes seconds."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read ``30d``, ``12h``, ``45m``, ``90s`` or ``2w``."""
        text = str(value)
        if text[-1:] not in _UNITS or not text[:-1].isdecimal():
            self.fail(f"{text!r} is no time: say 30d, 12h, 45m, 90s or 2w", param, ctx)
        return float(int(text[:-1]) * _UNITS[text[-1]])


@click.command()
@click.argument("store")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(store: str, file: Path) -> None:
    """Copy STORE to a new FILE, also while an engine works on it.

    The copy is a store of its own: what was acknowledged before is in it. greenroom check FILE reads it.
    """
    from runtime.cli.upkeep import back_up_store

    with told_plainly():
        click.echo(back_up_store(store, file))


@click.command()
@click.argument("store", default="greenroom.db")
@click.option(
    "--older-than",
    type=_Duration(),
    required=True,
    metavar="TIME",
    help="How long nothing was written: 30d, 12h, 45m, 90s or 2w.",
)
@click.option("--dry-run", is_flag=True, help="Only say which sessions would go.")
def prune(store: str, *, older_than: float, dry_run: bool) -> None:
    """Delete the sessions of STORE that nobody has used for long, for ever.

    A session goes with its children, when none of them is younger; what its forks still read stays for them.
    No engine may be working on the store.
    """
    from runtime.cli.upkeep import prune_store

    with told_plainly():
        for line in prune_store(store, older_than, dry_run=dry_run):
            click.echo(line)


@click.command()
@click.argument("store", default="greenroom.db")
def vacuum(store: str) -> None:
    """Give the room of deleted sessions in STORE back to the disk.

    No engine may be working on the store; a running one has engine.vacuum().
    """
    from runtime.cli.upkeep import vacuum_store

    with told_plainly():
        click.echo(vacuum_store(store))


@click.command()
@click.argument("session")
@click.option("--store", default="greenroom.db", show_default=True, help="Where it is kept.")
def salvage(session: str, *, store: str) -> None:
    """Write what can still be read of a damaged SESSION to stdout, one event per line; nothing is changed."""
    from runtime.cli.upkeep import salvage_session

    with told_plainly():
        for line in salvage_session(session, store):
            click.echo(line, nl=False)


def add_upkeep(group: click.Group) -> None:
    """Add these commands to a group."""
    for command in (backup, prune, vacuum, salvage):
        group.add_command(command)
