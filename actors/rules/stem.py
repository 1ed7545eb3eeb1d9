"""What a shell command is, in one or two words, for the policy table.

Source: A-43, A-44, N-23.
"""

import re
from typing import Final

_ASSIGNMENT: Final = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*=\S*(?:\s+|\Z)")
_SHELL: Final = re.compile(
    r"(?:sh|bash|zsh|dash|ksh)\s+-[A-Za-z]*c[A-Za-z]*(?:\s+|\Z)(?P<inner>.*)", re.DOTALL
)
_SYNTAX: Final = re.compile(r"""[\r\n|&;<>()`$'"]""")
_HARMLESS_FLAGS: Final = frozenset({"--help", "-h", "--version"})
_SEPARATORS: Final = re.compile(r"""[\s|&;<>()`$'"\\{}=,]+""")
_BLANKS: Final = re.compile(r"[\s|&;<>()`${},=]+")
_QUOTING: Final = re.compile(r"""['"\\]""")
_HIDDEN: Final = re.compile(r"[\\*?\[{~=]")
_WRAPPER: Final = re.compile(
    "!|builtin|busybox|chroot|command|coproc|do|doas|else|env|eval|exec|find|if|ionice|nice|nohup"
    "|parallel|setsid|source|stdbuf|strace|su|sudo|then|time|timeout|trap|until|watch|while|xargs"
)
"""Words whose arguments are commands."""
_REDIRECTING: Final = re.compile(
    r"\b(PATH|IFS|ENV|BASH_ENV|SHELLOPTS|(LD|DYLD|GIT|BASH_FUNC)_\w*|\w*(PAGER|EDITOR|BROWSER))="
)
"""Variables that change which program runs."""


def command_stem(command: str) -> str | None:
    """Return the command's base name and its first word that is no flag; None when it has no stem.

    Leading ``NAME=value`` words are dropped and one shell with ``-c`` is unwrapped. Shell syntax and
    flags (but for help and version) leave no stem, because two words would not say what runs.

    Source: A-44.
    """
    words = _unwrapped(_without_assignments(command)[1])
    if words is None or _SYNTAX.search(words):
        return None
    name, *rest = words.split() or [""]
    flags = [word for word in rest if word.startswith("-")]
    name = _base_name(name)
    if not name or any(flag not in _HARMLESS_FLAGS for flag in flags):
        return None
    first = next((word for word in rest if not word.startswith("-")), None)
    return name if first is None else f"{name} {first}"


def allows(pattern: str, command: str) -> bool:
    """Whether an allow entry covers the command: its one or two words lead the stem.

    A command is never covered when its dropped ``NAME=value`` words make another program run, by shell
    syntax (``A=1;b git`` runs ``b``) or by what they set (``PATH=. git``).

    Source: A-43.
    """
    wanted, stem = pattern.split(), command_stem(command)
    if stem is None or len(wanted) not in {1, 2}:
        return False
    dropped, _ = _without_assignments(command)
    harmless = _SYNTAX.search(dropped) is None and _REDIRECTING.search(dropped) is None
    return harmless and stem.split()[: len(wanted)] == wanted


def forbids(pattern: str, command: str) -> bool:
    """Whether a deny or ask entry covers the command; no flag, pipe, quote or wrapper escapes it.

    A stem that says everything is compared as :func:`allows` does. Otherwise any word of the command
    line counts as a command.

    Source: A-43, N-23.
    """
    wanted, stem = pattern.split(), command_stem(command)
    if len(wanted) not in {1, 2}:
        return False
    if stem is not None and stem.split()[: len(wanted)] == wanted:
        return True
    return (stem is None or _may_hide(command, stem)) and _names(wanted, command)


def _without_assignments(command: str) -> tuple[str, str]:
    """Return the leading ``NAME=value`` words, and the rest."""
    end = 0
    while found := _ASSIGNMENT.match(command, end):
        end = found.end()
    return command[:end], command[end:].strip()


def _unwrapped(command: str) -> str | None:
    """Return what one shell with ``-c`` would run; another command as it is; None for nothing at all."""
    found = _SHELL.fullmatch(command)
    inner = command if found is None else found["inner"].strip()
    if found and len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "'\"":
        inner = inner[1:-1].strip()
    return inner or None


def _may_hide(command: str, stem: str) -> bool:
    """Whether the stem's first word may run another command than it names."""
    wraps = _WRAPPER.fullmatch(stem.split(maxsplit=1)[0]) is not None
    return wraps or _HIDDEN.search(command) is not None


def _names(wanted: list[str], command: str) -> bool:
    """Whether the words of a pattern occur in order, whichever way quotes are read."""
    apart = _SEPARATORS.split(command)
    joined = _BLANKS.split(_QUOTING.sub("", command))
    return _in_order(wanted, apart) or _in_order(wanted, joined)


def _in_order(wanted: list[str], words: list[str]) -> bool:
    first = next((i for i, word in enumerate(words) if _base_name(word) == wanted[0]), None)
    return first is not None and (len(wanted) == 1 or wanted[1] in words[first + 1 :])


def _base_name(word: str) -> str:
    return word.rpartition("/")[2]
