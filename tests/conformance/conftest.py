"""Options and report of the conformance run: one test for each file and operation."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if (
    str(ROOT) not in sys.path
):  # the helpers here are imported by one name, however pytest was started
    sys.path.insert(0, str(ROOT))

from tests.conformance import harness  # noqa: E402 - the line above lets it be found

_PROPERTY = "conformance"
_VECTORS = harness.HERE / "vectors"


class Report:
    """Collects outcomes from the reports of the tests, so that worker processes may run them."""

    def __init__(self, config: pytest.Config) -> None:
        self.target: Path | None = config.getoption("--conformance-report", None)
        self.outcomes: list[dict[str, str | None]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.outcomes += [v for name, v in report.user_properties if name == _PROPERTY]

    def pytest_terminal_summary(self, terminalreporter) -> None:
        if self.target is not None:
            lines = [json.dumps(outcome) + "\n" for outcome in self.outcomes]
            self.target.write_text("".join(lines))
        if self.outcomes:
            counts = Counter(outcome["status"] for outcome in self.outcomes)
            terminalreporter.section("conformance")
            terminalreporter.line(", ".join(f"{count} {word}" for word, count in counts.items()))
            self._list(terminalreporter, "overruled")
            self._list(terminalreporter, "unsupported")

    def _list(self, terminalreporter, status: str) -> None:
        rules = Counter((o["op"], o["rule"]) for o in self.outcomes if o["status"] == status)
        for (op, rule), count in sorted(rules.items()):
            terminalreporter.line(f"{status} {op}: {count} ({rule})")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption(
        "--vectors",
        type=Path,
        default=_VECTORS,
        help="directory of *.jsonl or *.jsonl.xz vector files",
    )
    group.addoption(
        "--conformance-report", type=Path, help="write one JSON line for each vector to this file"
    )
    group.addoption(
        "--conformance-strict",
        action="store_true",
        help="fail on operations that have no adapter",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Report(config), "conformance-report")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vectors" in metafunc.fixturenames:
        groups = harness.by_operation(
            harness.load_directory(metafunc.config.getoption("--vectors", _VECTORS))
        )
        ids = ["-".join(key) for key in groups]
        metafunc.parametrize("vectors", groups.values(), ids=ids)


@pytest.fixture(scope="session")
def loaded():
    return harness.load_adapters()


@pytest.fixture(scope="session")
def adapters(loaded):
    return loaded[0]


@pytest.fixture
def strict(request) -> bool:
    return request.config.getoption("--conformance-strict", default=False)


@pytest.fixture
def report(record_property):
    """Keep an outcome for the report; as a property it also travels from a worker process."""

    def keep(outcome) -> None:
        record_property(
            _PROPERTY,
            {"id": outcome.id, "op": outcome.op, "status": outcome.status, "rule": outcome.rule},
        )

    return keep
