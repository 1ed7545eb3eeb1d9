"""The file tools as a model uses them."""

import os
import stat
from pathlib import Path

import pytest
import trio

from actors.errors import GreenroomError
from actors.errors.files import FileChangedError
from actors.log.budget import CONTENT_BYTES
from actors.log.json_text import json_bytes
from actors.ports.tool import Targeting, Tool
from actors.rules.policy import Targets
from actors.testing.context import RecordedContext
from actors.testing.model import ScriptedModel
from actors.testing.script import Call, CallTools, Say
from runtime import Policy, PolicyEntry, PolicyTable, open_engine
from runtime.tools import file_search
from runtime.tools.file_access import read_text, write_text
from runtime.tools.file_roots import Roots
from runtime.tools.file_tools import file_tools
from tests.contracts.tool_contract import ToolContract


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def tools(root) -> dict[str, Tool]:
    return {t.schema.name: t for t in file_tools(Roots([root]))}


async def said(tools, name, **arguments) -> str:
    output = await tools[name].call(arguments, RecordedContext().context())
    assert not output.is_error
    assert isinstance(output.content, str)
    return output.content


async def refused(tools, name, **arguments) -> str:
    with pytest.raises(GreenroomError) as caught:
        await tools[name].call(arguments, RecordedContext().context())
    return caught.value.code


class TestEachFileToolKeepsTheContractOfTools(ToolContract):
    arguments = {"path": "file", "content": "x"}  # noqa: RUF012 - never changed

    @pytest.fixture(params=["read", "list", "search", "write", "edit"])
    def tool(self, request, tools, root) -> Tool:
        (root / "file").write_text("x\n")
        self.arguments = {
            "read": {"path": "file"},
            "list": {},
            "search": {"text": "x"},
            "write": {"path": "file", "content": "x"},
            "edit": {"path": "", "old": "", "new": "", "wrong": 1},
        }[request.param]
        return tools[request.param]

    @pytest.fixture
    def autojump_clock(self) -> None:
        """Threads take real time."""


async def test_what_was_written_is_read_back_exactly(tools, root):
    text = "\ufeffline\r\nno end of line ü"
    assert "wrote" in await said(tools, "write", path="new/folder/file", content=text)
    assert await said(tools, "read", path="new/folder/file") == text
    assert (root / "new/folder/file").read_bytes() == text.encode()
    assert names_in(root / "new/folder") == ["file"]


async def test_a_range_of_lines_says_where_to_go_on(tools, root):
    (root / "file").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    page = await said(tools, "read", path="file", first_line=3, lines=2)
    assert page == "line 3\nline 4\n[lines 3 to 4 of 100; go on with first_line 5]"
    assert (await said(tools, "read", path="file", first_line=100)).startswith(
        "line 100\n[lines 100"
    )


async def test_a_long_file_is_read_to_its_end_in_pages_that_fit(tools, root):
    text = "".join(f"{n} “quoted” \\ \t\n" for n in range(20_000))
    (root / "file").write_text(text)
    read, first = "", 1
    while True:
        page = await said(tools, "read", path="file", first_line=first, lines=10**6)
        assert json_bytes(page) <= CONTENT_BYTES
        body, _, note = page.rpartition("\n[lines ")
        read += body + "\n"
        if "go on with" not in note:
            break
        first = int(note.rpartition("first_line ")[2].rstrip("]"))
    assert read.rstrip("\n") == text.rstrip("\n")


async def test_a_line_that_is_too_long_is_cut_and_told(tools, root):
    (root / "file").write_text("x" * 200_000)
    page = await said(tools, "read", path="file")
    assert json_bytes(page) <= CONTENT_BYTES
    assert page.endswith("[line 1 of 1 is cut: it has 200000 characters]")


@pytest.mark.parametrize("content", [b"a\0b", b"\xff\xfe"])
async def test_what_is_no_text_is_refused(tools, root, content):
    (root / "file").write_bytes(content)
    assert await refused(tools, "read", path="file") == "FILE_NOT_TEXT"


async def test_a_file_that_is_too_large_is_refused_without_reading_it(tools, root):
    with (root / "file").open("wb") as file:
        file.truncate(1 << 40)
    assert await refused(tools, "read", path="file") == "FILE_TOO_LARGE"


async def test_an_edit_keeps_the_permissions_and_everything_else(tools, root):
    (root / "file").write_bytes(b"#!/bin/sh\r\necho old\r\n")
    (root / "file").chmod(0o751)
    await said(tools, "edit", path="file", old="old", new="new")
    assert (root / "file").read_bytes() == b"#!/bin/sh\r\necho new\r\n"
    assert stat.S_IMODE((root / "file").stat().st_mode) == 0o751


async def test_an_edit_that_does_not_apply_changes_nothing(tools, root):
    (root / "file").write_text("two two")
    assert await refused(tools, "edit", path="file", old="three", new="x") == "EDIT_NOT_FOUND"
    assert await refused(tools, "edit", path="file", old="two", new="x") == "EDIT_AMBIGUOUS"
    assert await refused(tools, "edit", path="none", old="two", new="x") == "FILE_NOT_FOUND"
    assert (root / "file").read_text() == "two two"
    assert names_in(root) == ["file"]


async def test_edits_of_many_sessions_lose_nothing(tools, root):
    (root / "file").write_text("".join(f"<{n}>" for n in range(40)))
    async with trio.open_nursery() as nursery:
        for n in range(40):
            arguments = {"path": "file", "old": f"<{n}>", "new": f"[{n}]"}
            nursery.start_soon(tools["edit"].call, arguments, RecordedContext().context())
    assert (root / "file").read_text() == "".join(f"[{n}]" for n in range(40))


def test_a_file_that_another_program_changed_is_not_overwritten(root):
    place = Roots([root]).place("file")
    (root / "file").write_text("first")
    before = read_text(place)
    (root / "file").write_text("second, by somebody else")
    with pytest.raises(FileChangedError):
        write_text(place, "third", ".tmp", before.version)
    assert (root / "file").read_text() == "second, by somebody else"
    assert names_in(root) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(root, monkeypatch):
    (root / "file").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("runtime.tools.file_access.os.write", full)
    with pytest.raises(GreenroomError, match="No space left"):
        write_text(Roots([root]).place("file"), "new", ".tmp")
    monkeypatch.undo()
    assert (root / "file").read_text() == "old"
    assert names_in(root) == ["file"]


async def test_nothing_is_written_when_the_files_are_read_only(root):
    tools = {t.schema.name: t for t in file_tools(Roots([root]), writable=False)}
    assert await refused(tools, "write", path="file", content="x") == "FILES_READ_ONLY"
    assert await refused(tools, "edit", path="file", old="x", new="y") == "FILES_READ_ONLY"
    assert names_in(root) == []


async def test_a_session_that_was_set_to_read_only_writes_nothing(tools, root):
    context = RecordedContext(sandbox_mode="read-only").context()
    with pytest.raises(GreenroomError, match="read-only"):
        await tools["write"].call({"path": "file", "content": "x"}, context)
    assert names_in(root) == []


async def test_a_folder_is_listed_with_what_its_entries_are(tools, root):
    (root / "folder").mkdir()
    (root / "link").symlink_to("/etc/passwd")
    (root / "file").write_text("12345")
    assert await said(tools, "list") == "file (5 bytes)\nfolder/\nlink (link)"
    assert await said(tools, "list", path="folder") == "[empty]"
    assert await refused(tools, "list", path="file") == "FILE_KIND"
    assert await refused(tools, "list", path="link") == "FILE_IS_LINK"


async def test_files_are_found_by_name_and_by_what_they_hold(tools, root):
    for name, text in (("a.py", "import x\nX = 1\n"), ("d/b.py", "x = 2"), ("d/.git/c.py", "x")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "binary.py").write_bytes(b"\0x")
    (root / "outside").symlink_to("/etc")

    assert await said(tools, "search", glob="**/*.py") == "a.py\nbinary.py\nd/b.py"
    assert await said(tools, "search", glob="*.py", text="x") == "a.py:1: import x"
    assert await said(tools, "search", text="X", ignore_case=True) == (
        "a.py:1: import x\na.py:2: X = 1\nd/b.py:1: x = 2"
    )
    assert await said(tools, "search", path="d", glob="*") == "d/b.py"
    assert await said(tools, "search", text="no such text") == "nothing was found"


async def test_a_search_is_bounded_and_says_so(tools, root, monkeypatch):
    (root / "file").write_text("x\n" * 1000)
    assert "only the first 200 are shown" in await said(tools, "search", text="x")
    monkeypatch.setattr(file_search, "FILE_BYTES", 10)
    assert "1 files or folders could not be looked into" in await said(tools, "search", text="x")
    monkeypatch.setattr(file_search, "SEEN_LIMIT", 0)
    assert "only the first 0 names" in await said(tools, "search")


async def test_a_search_ends_at_the_signal_and_when_it_is_cancelled(tools, root):
    for n in range(50):
        (root / f"file{n}").write_text("x")
    recorded = RecordedContext()
    recorded.cancelled.set()
    output = await tools["search"].call({"text": "x"}, recorded.context())
    assert "the search was stopped" in output.content

    with trio.CancelScope() as scope:
        scope.cancel()
        await tools["search"].call({"text": "x"}, RecordedContext().context())
    assert scope.cancelled_caught


def test_the_policy_is_told_where_a_path_really_leads(tools, root):
    path = os.path.realpath(root)
    for name, expected in (
        ("read", Targets(reads=(f"{path}/b",))),
        ("search", Targets(trees=(f"{path}/b",))),
        ("write", Targets(writes=(f"{path}/b",))),
    ):
        it = tools[name]
        assert isinstance(it, Targeting)
        assert it.targets({"path": "a/../b"}) == expected
        assert it.targets({"path": "/etc/passwd"}) == it.targets("no json") == Targets()


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (Call("read", {"path": "keys/a.pem"}), "TOOL_BLOCKED"),
        (Call("read", {"path": "x/../keys/a.pem"}), "TOOL_BLOCKED"),
        (Call("search", {"text": "secret"}), "TOOL_BLOCKED"),
        (Call("read", {"path": "open"}), None),
        (Call("search", {"path": "docs", "text": "secret"}), None),
        (Call("write", {"path": ".env", "content": "x"}), "TOOL_BLOCKED"),
        (Call("write", {"path": "docs/new", "content": "x"}), None),
    ],
)
async def test_rows_of_the_policy_for_files_apply(tools, root, call, code):
    for name in ("keys/a.pem", "open", "docs/b"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("secret")
    rows = (
        PolicyEntry(index=0, tool="read", pattern="**/*.pem", decision="deny"),
        PolicyEntry(index=1, tool="search", pattern="keys/**", decision="deny"),
        PolicyEntry(index=2, tool="write", pattern="docs"),
    )
    policy = Policy(table=PolicyTable(entries=rows), workspace=str(root))
    model = ScriptedModel([CallTools(call), Say("done")])
    async with open_engine(model=model, tools=list(tools.values()), policy=policy) as engine:
        session = await engine.create()
        await session.run("go")
        results = [e.data() for e in await session.read() if e.type == "tool/result"]
    assert results[0].get("error", {}).get("code") == code
