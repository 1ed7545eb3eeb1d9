"""The script that runs the gates: all of them, each reported, red when one is."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

GREEN = ["-c", ""]
RED = ["-c", "raise SystemExit(3)"]


@pytest.fixture
def check() -> ModuleType:
    loader = SourceFileLoader("check_script", str(ROOT / "check"))
    spec = spec_from_loader("check_script", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_one_red_gate_fails_the_whole_and_the_rest_still_runs(
    check: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    results = check.run({"first": RED, "second": GREEN})

    assert check.report(results) == 1
    shown = capfd.readouterr().out
    assert "RED   first" in shown
    assert "green second" in shown


def test_all_green_is_exit_status_zero(check: ModuleType) -> None:
    assert check.report(check.run({"first": GREEN, "second": GREEN})) == 0


def test_options_reach_pytest_and_only_the_named_gates_run(
    check: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: dict[str, list[str]] = {}

    def run(commands: dict[str, list[str]]) -> dict[str, tuple[bool, float]]:
        ran.update(commands)
        return {}

    monkeypatch.setattr(check, "run", run)

    assert check.main(["pytest", "--quick", "--jobs", "2", "--", "-k", "fold"]) == 0
    assert ran == {"pytest": ["-m", "pytest", "-m", "not slow", "-n", "2", "-k", "fold"]}


def test_an_unknown_gate_is_a_usage_error(
    check: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        check.main(["fromat"])

    assert ended.value.code == 2
    assert "no gate 'fromat'" in capsys.readouterr().err
