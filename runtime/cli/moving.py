"""The commands that take sessions in, out and apart; what each does is in :mod:`runtime.cli.transfer`."""

from pathlib import Path
from typing import get_args

import click

from runtime.cli.failure import told_plainly
from runtime.cli.looking import DEFAULT_STORE
from runtime.formats.writing import Form


@click.command()
@click.argument("session")
@click.option("--store", default=DEFAULT_STORE, show_default=True, help="Where it is kept.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(Form)),
    default="native",
    show_default=True,
    help="What to write; another system's format is refused when it cannot say what the session holds.",
)
def export(session: str, *, store: str, form: Form) -> None:
    """Write SESSION to stdout as JSON lines: a header, then one event per line.

    A fork is written with the events that it inherits. Attachments stay in the store. claude-code and codex
    are for sessions that were imported from there and not gone on with.
    """
    from runtime.cli.transfer import export_session

    with told_plainly():
        click.echo(export_session(session, store, form), nl=False)


@click.command(name="import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--store", default=DEFAULT_STORE, show_default=True, help="Where to; made if missing."
)
@click.option("--id", "session_id", help="Its id here.  [default: the one in the file]")
def import_(file: Path, *, store: str, session_id: str | None) -> None:
    """Take a session log into a store, and print its id.

    The format of FILE is recognised by its content: an export of greenroom, DSH (version 0 or 4), berry-agent,
    Claude Code or Codex. A log that breaks the rules of its format is refused whole.
    """
    from runtime.cli.transfer import import_session

    with told_plainly():
        taken = import_session(file, store, session_id)
    click.echo(taken.session_id)
    for line in taken.remarks:
        click.echo(line, err=True)


@click.command()
@click.argument("session")
@click.option("--store", default=DEFAULT_STORE, show_default=True, help="Where it is kept.")
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="The last event to share.  [default: the end of the last closed turn]",
)
@click.option("--id", "fork_id", help="Its id.  [default: a new one]")
def fork(session: str, *, store: str, at: int | None, fork_id: str | None) -> None:
    """Make a session that shares the past of SESSION, and print its id."""
    from runtime.cli.transfer import fork_session

    with told_plainly():
        click.echo(fork_session(session, store, at, fork_id))


def add_moving(group: click.Group) -> None:
    """Add these commands to a group."""
    for command in (export, import_, fork):
        group.add_command(command)
