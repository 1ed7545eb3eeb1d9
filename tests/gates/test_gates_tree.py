"""What the tree promises of itself: sizes, pinned packages, pages that name what exists."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(path for name in ("actors", "runtime") for path in (ROOT / name).rglob("*.py"))
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
ADDRESS = re.compile(r"https?://|--(extra-)?index-url|--find-links")


def test_no_file_is_over_500_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in CODE}

    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_every_constraint_is_pinned_with_hashes_and_names_no_address() -> None:
    text = (ROOT / "constraints.txt").read_text()
    pinned = re.findall(
        r"^([a-z0-9-]+)==\S+.*(?:\\\n    --hash=sha256:[0-9a-f]{64}.*)+$", text, re.MULTILINE
    )

    assert pinned == re.findall(r"^([a-z0-9-]+)\b", text, re.MULTILINE)
    assert _required() <= set(pinned)
    assert ADDRESS.search(text) is None


def test_the_map_fits_on_150_lines() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_only_files_that_exist(page: str) -> None:
    text = (ROOT / page).read_text()
    named = re.findall(r"`((?:actors|runtime|tests|bench)/[\w./-]*)`", text)
    linked = re.findall(r"\]\(([\w./-]+)\)", text)

    assert [name for name in (*named, *linked) if not (ROOT / name).exists()] == []


def _required() -> set[str]:
    """The names of every package that pyproject.toml asks for, in any extra but the peers of the bench."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name: all_ for name, all_ in project["optional-dependencies"].items() if name != "bench"
    }
    wanted = [*project["dependencies"], *chain(*extras.values())]
    names = {re.split(r"[^A-Za-z0-9._-]", one)[0].replace(".", "-") for one in wanted}
    return names - {"greenroom"}
