"""Files as tools: read, write, edit, list and search inside the allowed folders."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import attrs
import trio

from actors.errors import GreenroomError
from actors.errors.files import FilesReadOnlyError
from actors.json import JsonValue
from actors.log.budget import CONTENT_BYTES, text_start
from actors.log.json_text import escaped_bytes, units
from actors.ports.model import ToolSchema
from actors.ports.tool import Tool, ToolContext, ToolOutput
from actors.ports.world import IdSource
from actors.rules.policy import NOTHING, Effect, Targets
from actors.rules.replacement import replaced
from runtime.tools.file_access import read_text, write_text
from runtime.tools.file_roots import Place, Roots
from runtime.tools.file_search import Search, listing
from runtime.tools.functions import FunctionTool, tool
from runtime.world import SystemIds

T = TypeVar("T")
Kind = Callable[[str], Targets]

SHOWN_BYTES: Final = CONTENT_BYTES - 1024
"""The rest is for the line that says how to read on."""
DEFAULT_LINES: Final = 2000


@attrs.frozen
class FileTool:
    """A function tool whose calls are about one path: the policy sees where it really leads (A-43)."""

    function: FunctionTool[..., Any]
    roots: Roots
    kind: Kind
    """What a call does with the path."""

    @property
    def schema(self) -> ToolSchema:
        """Name, description and parameters for the model."""
        return self.function.schema

    @property
    def effect(self) -> Effect:
        """What the function declares."""
        return self.function.effect

    @property
    def timeout_s(self) -> float | None:
        """What the function declares."""
        return self.function.timeout_s

    def targets(self, arguments: JsonValue) -> Targets:
        """See :class:`actors.ports.tool.Targeting`."""
        path = arguments.get("path", ".") if isinstance(arguments, dict) else None
        if not isinstance(path, str):
            return NOTHING
        try:
            return self.kind(self.roots.place(path).path)
        except GreenroomError:  # the call itself is refused with the reason
            return NOTHING

    async def call(self, arguments: JsonValue, context: ToolContext) -> ToolOutput:
        """See the port."""
        return await self.function.call(arguments, context)


def file_tools(
    roots: Roots, *, writable: bool = True, ids: IdSource | None = None
) -> tuple[Tool, ...]:
    """Return ``read``, ``list``, ``search``, ``write`` and ``edit`` inside some folders.

    Args:
        roots: the folders.
        writable: whether write and edit may do anything (A-10: the file fence).
        ids: names temporary files.
    """
    writer = _Writer(roots, writable, ids or SystemIds())
    return (
        FileTool(_reader(roots), roots, _reads),
        FileTool(_lister(roots), roots, _reads),
        FileTool(_searcher(roots), roots, _tree),
        FileTool(writer.write_tool(), roots, _writes),
        FileTool(writer.edit_tool(), roots, _writes),
    )


def _reads(path: str) -> Targets:
    return Targets(reads=(path,))


def _tree(path: str) -> Targets:
    return Targets(trees=(path,))


def _writes(path: str) -> Targets:
    return Targets(writes=(path,))


def _reader(roots: Roots) -> FunctionTool[..., Any]:
    @tool(effect="read")
    def read(path: str, first_line: int = 1, lines: int = DEFAULT_LINES) -> str:
        """Read a text file, or a range of its lines, exactly as it is.

        Args:
            path: the file; relative paths start at the workspace.
            first_line: where to begin, counted from 1.
            lines: how many lines at most.
        """
        return _page(read_text(roots.place(path)).text, max(first_line, 1), max(lines, 1))

    return read


def _lister(roots: Roots) -> FunctionTool[..., Any]:
    @tool(effect="read", name="list")
    def list_folder(path: str = ".") -> str:
        """List a folder: folders end with a slash, files have their sizes, links are not followed.

        Args:
            path: the folder; relative paths start at the workspace.
        """
        return _fitting(listing(roots.place(path)))

    return list_folder


def _searcher(roots: Roots) -> FunctionTool[..., Any]:
    @tool(effect="read")
    async def search(
        ctx: ToolContext,
        path: str = ".",
        glob: str = "**",
        text: str | None = None,
        ignore_case: bool = False,
    ) -> ToolOutput:
        """Find files by name, or lines in them that hold a text. Metadata of repositories is left out.

        Args:
            ctx: the call.
            path: the folder to search; relative paths start at the workspace.
            glob: which files, by their path below the folder: * and ? within a name, **/ for any folders.
            text: what a line must hold, literally; without it the files are listed.
            ignore_case: whether case does not count.
        """
        found = Search(partial(_goes_on, ctx))
        await trio.to_thread.run_sync(
            partial(found.run, roots.place(path), glob, text or None, ignore_case=ignore_case)
        )
        return _report(found)

    return search


class _Writer:
    """The tools that change files. One change at a time, so that no edit of ours loses another."""

    def __init__(self, roots: Roots, writable: bool, ids: IdSource) -> None:
        self._roots, self._writable, self._ids = roots, writable, ids
        self._one = trio.CapacityLimiter(1)

    def write_tool(self) -> FunctionTool[..., Any]:
        @tool(effect="write")
        async def write(path: str, content: str, ctx: ToolContext) -> str:
            """Write a text file, all of it or nothing. Missing folders are made.

            Args:
                ctx: the call.
                path: the file; relative paths start at the workspace.
                content: everything that is to stand in it.
            """
            place = self._writable_place(path, ctx)
            new = await self._change(partial(write_text, place, content, self._temporary()))
            return f"{'wrote' if new else 'replaced'} {path}: {len(content.encode())} bytes"

        return write

    def edit_tool(self) -> FunctionTool[..., Any]:
        @tool(effect="write")
        async def edit(path: str, old: str, new: str, ctx: ToolContext, every: bool = False) -> str:
            """Replace text in a file. The old text must occur exactly once, as it stands there.

            Args:
                ctx: the call.
                path: the file; relative paths start at the workspace.
                old: the text to replace, with its white space.
                new: what is to stand there.
                every: replace it wherever it occurs.
            """
            place = self._writable_place(path, ctx)
            count = await self._change(partial(self._edit, place, old, new, every=every))
            return f"replaced {count} {'place' if count == 1 else 'places'} in {path}"

        return edit

    def _writable_place(self, path: str, context: ToolContext) -> Place:
        if not self._writable or context.sandbox_mode == "read-only":
            raise FilesReadOnlyError(path)
        return self._roots.place(path)

    def _edit(self, place: Place, old: str, new: str, *, every: bool) -> int:
        before = read_text(place)
        after = replaced(place.shown, before.text, old, new, every=every)
        write_text(place, after, self._temporary(), before.version)
        return before.text.count(old)

    def _temporary(self) -> str:
        return f".{self._ids.new('greenroom')}.tmp"

    async def _change(self, change: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(change, limiter=self._one)


def _goes_on(context: ToolContext) -> bool:
    """Whether a call in a thread may go on.

    Raises:
        Cancelled: it was cancelled.
    """
    trio.from_thread.check_cancelled()
    return not context.cancelled.is_set()


def _page(text: str, first_line: int, lines: int) -> str:
    """Return a range of lines, as many as fit; what is missing behind them is told."""
    every = text.removesuffix("\n").split("\n")
    total = len(every)
    chosen = every[first_line - 1 : first_line - 1 + lines]
    shown = _whole_lines(chosen)
    if not chosen:
        return f"[there is no line {first_line}: the file has {total}]"
    if not shown:
        cut = text_start(chosen[0], units(chosen[0]), SHOWN_BYTES)
        return f"{cut}\n[line {first_line} of {total} is cut: it has {len(chosen[0])} characters]"
    if len(shown) == total:
        return text
    last = first_line - 1 + len(shown)
    more = f"; go on with first_line {last + 1}" if last < total else ""
    return "\n".join([*shown, f"[lines {first_line} to {last} of {total}{more}]"])


def _whole_lines(lines: list[str]) -> list[str]:
    """Return the first lines that fit together."""
    left = SHOWN_BYTES
    for count, line in enumerate(lines):
        left -= escaped_bytes(line)  # its quotes stand for the line end
        if left < 0:
            return lines[:count]
    return lines


def _fitting(text: str) -> str:
    shown = _whole_lines(text.split("\n"))
    more = text.count("\n") + 1 - len(shown)
    return "\n".join([*shown, f"[{more} more lines do not fit]"] if more else shown)


def _report(search: Search) -> ToolOutput:
    notes = [f"[{search.incomplete}]"] if search.incomplete is not None else []
    if search.skipped:
        notes.append(f"[{search.skipped} files or folders could not be looked into]")
    text = "\n".join([*(search.found or ["nothing was found"]), *notes])
    meta: JsonValue = {"found": len(search.found), "complete": search.incomplete is None}
    return ToolOutput(content=_fitting(text), meta=meta)
