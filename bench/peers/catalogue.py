"""The peers: what they need, what they can do, and where their work is not the same as ours."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from bench.running import ROOT

WorkName: TypeAlias = Literal[
    "ask", "append", "durable-turn", "durable-event", "open", "fork", "cancel"
]
SAME: Final = ""


@attrs.frozen
class PeerSpec:
    """One peer; ``works`` says of each work what is unequal, in a few words or none."""

    name: str
    packages: tuple[str, ...]
    module: str
    works: Mapping[WorkName, str]


PEERS: Final = (
    PeerSpec("pykka", ("pykka",), "pykka_work", {"ask": "a thread for each actor"}),
    PeerSpec("xoscar", ("xoscar",), "xoscar_work", {"ask": "one process, no supervision"}),
    PeerSpec(
        "autogen-core",
        ("autogen-core",),
        "autogen_work",
        {"ask": "messages are copied by type", "cancel": "nothing is logged or stored"},
    ),
    PeerSpec(
        "eventsourcing",
        ("eventsourcing",),
        "eventsourcing_work",
        {
            "append": "no gates on what is appended",
            "durable-turn": "one writer after the other, no group commit",
            "durable-event": "one writer after the other, no group commit",
            "open": "no recovery of what a crash left open",
        },
    ),
    PeerSpec(
        "langgraph",
        ("langgraph", "langgraph-checkpoint-sqlite"),
        "langgraph_work",
        {
            "append": "a graph of one node; the state as checkpoints",
            "durable-turn": "a graph of one node, synchronous saver, its own SQLite settings",
            "open": "one checkpoint instead of 60 events",
            "fork": "copies the state of 10,000 messages",
            "cancel": "nothing is logged or stored",
        },
    ),
    PeerSpec(
        "openai-agents",
        ("openai-agents",),
        "openai_agents_work",
        {
            "append": "items in a table, nothing is checked",
            "durable-turn": "items in a table, nothing is checked",
            "durable-event": "items in a table, nothing is checked",
            "open": "60 rows and their loads, nothing is folded",
            "fork": "copies 10,000 items",
        },
    ),
)


def requirements(spec: PeerSpec) -> list[str]:
    """Return what the extra ``bench`` of this project says about the packages of a peer."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {_name(one): one for one in project["optional-dependencies"]["bench"]}
    return [wanted[package] for package in spec.packages]


def python_of(spec: PeerSpec, home: Path) -> Path:
    """Return the interpreter of a peer's environment, made or not."""
    return home / spec.name / "bin" / "python"


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0]
