"""All tools for work in a folder, in one call."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from actors.ports.tool import Tool
from actors.rules.policy import Mode
from runtime.tools.file_roots import Roots
from runtime.tools.file_tools import file_tools
from runtime.tools.local_shell import LocalShell
from runtime.tools.shell_tools import shell_tools


def workspace_tools(
    root: str | Path,
    *,
    also: Sequence[str | Path] = (),
    sandbox: Mode = "workspace-write",
    network: bool = False,
    env: Mapping[str, str] | None = None,
    inherit: bool = False,
) -> tuple[Tool, ...]:
    """Return the file tools and the shell for a folder.

    ``read``, ``list``, ``search``, ``write``, ``edit``; ``shell``, ``shell_start``, ``shell_read``,
    ``shell_stop``. The file tools touch nothing outside of the roots in any mode. The sandbox confines
    what commands do, and a mode that a session's log sets can narrow it; which calls may run at all is for
    the policy of the agent.

    Args:
        root: the folder to work in; it must exist.
        also: further folders that may be read and written.
        sandbox: ``read-only`` changes nothing, ``workspace-write`` only what lies in the roots, both by
            bubblewrap; without it commands are refused with ``SANDBOX_UNAVAILABLE``. ``danger`` lets
            commands do what the engine may do.
        network: whether confined commands have the network.
        env: variables for every command; even secrets pass.
        inherit: let commands inherit all of the engine's environment but what looks like a secret, not
            only a short list of names (K-14).

    Raises:
        NotADirectoryError: one of the folders is none.
    """
    roots = Roots([root, *also])
    shell = LocalShell(roots.paths, mode=sandbox, network=network, env=env, inherit=inherit)
    return (*file_tools(roots, writable=sandbox != "read-only"), *shell_tools(shell))
