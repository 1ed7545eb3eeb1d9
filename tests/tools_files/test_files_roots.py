"""No path and no link leads out of the roots, not even one that is swapped in at the last moment."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.errors import GreenroomError
from actors.errors.files import (
    FileKindError,
    FileLinkError,
    FileMissingError,
    FileOutsideError,
    FileToolError,
)
from runtime.tools.file_access import read_text, write_text
from runtime.tools.file_roots import Roots, open_folder
from runtime.tools.file_search import entries_of

OUTSIDE = "the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    (tmp_path / "secret").write_text(OUTSIDE)
    (tmp_path / "rooted").mkdir()
    return root


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "a/../../secret",
        "/etc/passwd",
        "a/../../rooted/x",
        "..",
        "/",
        "../root/../secret",
    ],
)
def test_a_path_that_leads_out_is_refused_before_anything_is_opened(root, path):
    with pytest.raises(FileOutsideError, match="outside"):
        Roots([root]).place(path)


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_what_can_be_no_path_is_refused(root, path):
    with pytest.raises(FileToolError):
        Roots([root]).place(path)


def test_absolute_paths_and_dots_inside_are_the_same_file(root):
    roots = Roots([root])
    for path in (
        "a/b/file",
        "./a//b/./file",
        "a/b/../b/file",
        f"{root}/a/b/file",
        "../root/a/b/file",
    ):
        assert read_text(roots.place(path)).text == "inside"


def test_a_second_root_is_reached_by_its_path(root, tmp_path):
    (tmp_path / "rooted" / "x").write_text("other")
    roots = Roots([root, tmp_path / "rooted"])
    assert read_text(roots.place(f"{tmp_path}/rooted/x")).text == "other"


def test_a_root_may_itself_be_reached_over_a_link(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)
    assert read_text(Roots([tmp_path / "alias"]).place("a/b/file")).text == "inside"


@pytest.mark.parametrize("target", ["../secret", "b/file", "missing"])
def test_a_link_to_a_file_is_refused_for_reading_and_writing(root, target):
    (root / "a" / "link").symlink_to(target)
    place = Roots([root]).place("a/link")
    with pytest.raises(FileLinkError):
        read_text(place)
    with pytest.raises(FileLinkError):
        write_text(place, "new", ".tmp")
    assert (root.parent / "secret").read_text() == OUTSIDE
    assert sorted(path.name for path in (root / "a").iterdir()) == ["b", "link"]


def test_a_link_to_a_folder_is_refused_and_named(root, tmp_path):
    (root / "out").symlink_to(tmp_path)
    for path in ("out/secret", "out/new/file"):
        with pytest.raises(FileLinkError, match=f"out is a link to {tmp_path}"):
            read_text(Roots([root]).place(path))
    with pytest.raises(FileLinkError):
        write_text(Roots([root]).place("out/planted"), "x", ".tmp")
    assert not (tmp_path / "planted").exists()


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("a/none", FileMissingError),
        ("a", FileKindError),
        ("a/b/file/x", FileKindError),
        (".", FileKindError),
    ],
)
def test_what_is_no_file_says_so(root, path, error):
    with pytest.raises(error):
        read_text(Roots([root]).place(path))


def test_a_pipe_and_a_socket_do_not_hold_anybody_up(root):
    os.mkfifo(root / "pipe")
    with pytest.raises(FileKindError, match="neither"):
        read_text(Roots([root]).place("pipe"))
    with pytest.raises(FileKindError, match="neither"):
        write_text(Roots([root]).place("pipe"), "x", ".tmp")


def test_a_folder_that_is_swapped_for_a_link_never_leads_out(root, tmp_path):
    """One thread swaps a folder for a link and back, while another reads through it."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").write_text(OUTSIDE)
    roots, stop = Roots([root]), threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "a").rename(root / "hidden")
            (root / "a").symlink_to(tmp_path)
            (root / "a").unlink()
            (root / "hidden").rename(root / "a")
            stop.wait(0.001)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen, refused = set(), set()
    try:
        for number in range(1000):
            try:
                place = roots.place("a/b/file")
                before = read_text(place)
                seen.add(before.text)
                write_text(place, "inside", f".t{number}", before.version)
            except GreenroomError as error:
                refused.add(error.code)
    finally:
        stop.set()
        swapping.join()
    assert seen == {"inside"}
    assert refused <= {"FILE_IS_LINK", "FILE_NOT_FOUND", "FILE_KIND"}
    assert refused
    assert [(p.name, p.read_text()) for p in (tmp_path / "b").iterdir()] == [("file", OUTSIDE)]


names = st.sampled_from(["a", "b", "file", "link", "out", "..", ".", "", "none"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(names, max_size=6), st.booleans())
def test_whatever_can_be_read_lies_inside_by_the_judgement_of_the_system(root, parts, absolute):
    """The model is the system's own resolution of links and dots."""
    for link, target in (("a/link", "../.."), ("out", "..")):
        if not (root / link).is_symlink():
            (root / link).symlink_to(target)
    path = "/".join(parts)
    given_path = f"{root}/{path}" if absolute else path
    try:
        place = Roots([root]).place(given_path)
        content = read_text(place).text
    except GreenroomError:
        return
    assert content == "inside"
    assert os.path.realpath(root / given_path).startswith(f"{os.path.realpath(root)}/")
    assert place.path == os.path.realpath(place.path)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_descriptors_are_closed_whatever_happens(root, tmp_path):
    (root / "out").symlink_to(tmp_path)
    roots = Roots([root])
    before = descriptors()
    for path in ("a/b/file", "a/b/none", "out/secret", "a/b/file/x", "a"):
        with suppress(GreenroomError):
            read_text(roots.place(path))
    with open_folder(roots.place("x/y/z"), create=True):
        pass
    assert [entry.place.name for entry in entries_of(roots.place("."))] == ["a", "out", "x"]
    assert descriptors() == before
