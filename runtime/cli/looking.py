"""The commands that look into a store and change nothing of it; what each does is in a module of its own."""

from typing import Final, TextIO

import click

from runtime.cli.failure import told_plainly

DEFAULT_STORE: Final = "greenroom.db"


@click.command()
@click.argument("store", default=DEFAULT_STORE)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def sessions(store: str, *, as_json: bool) -> None:
    """List the sessions of STORE."""
    from runtime.cli.listing import list_sessions

    with told_plainly():
        for line in list_sessions(store, as_json=as_json):
            click.echo(line)


@click.command()
@click.argument("text")
@click.option("--store", default=DEFAULT_STORE, show_default=True, help="Where to look.")
@click.option("--session", "session_id", help="Look only at what this session wrote.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def search(text: str, *, store: str, session_id: str | None, limit: int, as_json: bool) -> None:
    """Find TEXT in what is visible in the sessions of a store, the last written first.

    Hidden and replaced messages are not found. The store must not be in use by another process.
    """
    from runtime.cli.searching import search_store

    with told_plainly():
        for line in search_store(store, text, session_id, limit, as_json=as_json):
            click.echo(line)


@click.command()
@click.argument("target", metavar="FILE_OR_SESSION")
@click.option("--store", default=DEFAULT_STORE, show_default=True, help="Where a session is kept.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inspect(target: str, *, store: str, as_json: bool) -> None:
    """Print the figures of one log: a recorded file, or a session of a store."""
    from runtime.cli.inspecting import inspect_log

    with told_plainly():
        for line in inspect_log(target, store, as_json=as_json):
            click.echo(line)


@click.command()
@click.argument("store", default=DEFAULT_STORE)
@click.option(
    "--acks",
    type=click.File(),
    help="Lines 'SESSION SEQ' of what was acknowledged (- for stdin): each must be there.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def check(store: str, *, acks: TextIO | None, as_json: bool) -> None:
    """Verify every page and log of STORE: nothing missing, a fold from scratch, an end for every start."""
    from runtime.cli.checking import check_store

    with told_plainly():
        status, lines = check_store(store, acks or (), as_json=as_json)
    for line in lines:
        click.echo(line)
    raise SystemExit(status)


def add_looking(group: click.Group) -> None:
    """Add these commands to a group."""
    for command in (sessions, search, inspect, check):
        group.add_command(command)
