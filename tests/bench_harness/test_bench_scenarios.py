"""Every scenario runs to its end with next to nothing to do; what it measures is nobody's business here."""

import math
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from actors.testing.model import ScriptedModel
from actors.testing.script import Say
from bench import running
from bench.__main__ import main
from bench.peers import command, found
from bench.peers.catalogue import PEERS, requirements
from bench.profiling import by_switch, kind
from bench.scenarios import cancelling
from bench.sizes import SIZES
from bench.timing import alternate
from bench.work import SpoiltError, an_engine, make_sessions, take_turn
from runtime.cli.bench.figure import Outcome

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", running.SCENARIOS)
def test_a_scenario_measures_figures_beside_limits_and_targets(name: str) -> None:
    outcome = running.scenario(name)(SIZES["tiny"])

    assert outcome.id == name
    assert outcome.figures[0].id == name
    assert outcome.figures[0].ok is not None
    assert len({figure.id for figure in outcome.figures}) == len(outcome.figures)
    for figure in outcome.figures:
        assert figure.id.partition(".")[0] == name
        assert math.isfinite(figure.value)
        assert figure.limit is None or figure.limit > 0
    assert all(points for series in outcome.series for points in series.curves.values())


def test_the_run_prints_a_table_and_writes_one_line_per_scenario_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "measure_apart", _measured)
    lines, page = tmp_path / "b.jsonl", tmp_path / "b.html"

    status = main(["--only", "b6,B1", "--quick", "--json", str(lines), "--html", str(page)])

    printed = capsys.readouterr().out
    assert status in {0, 1}
    assert "targets met" in printed
    assert f"{SIZES['quick'].rounds} rounds" in printed
    shown = [orjson.loads(line) for line in lines.read_bytes().splitlines()]
    assert [one["id"] for one in shown] == ["B6", "B1"]
    assert {"value", "unit", "limit", "ratio", "target", "ok", "peers", "machine"} <= set(shown[0])
    assert "<svg" not in page.read_text() or page.read_text().count("</svg>")
    assert "python -m bench --only b6,B1" in page.read_text()


def test_a_scenario_in_a_process_of_its_own_comes_back_whole() -> None:
    outcome = running.measure_apart("B6", "tiny")

    assert outcome.failure is None
    assert outcome.figures[0].id == "B6"
    assert outcome.duration_s > 0


def test_a_scenario_that_breaks_is_a_failure_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(running.SCENARIOS, "B99", "bench.scenarios.unheard:measure")

    outcome = running.measure_apart("B99", "tiny")

    assert (outcome.id, outcome.ok) == ("B99", False)
    assert outcome.failure == "KeyError: 'B99'"


def test_a_scenario_that_takes_too_long_is_ended_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(running.TIME_LIMIT_S, "tiny", 0.05)

    assert running.measure_apart("B6", "tiny").failure == "it took more than 0.05 s"


def test_an_unknown_scenario_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(SystemExit) as left:
        main(["--only", "B99"])

    assert left.value.code == 2


def test_both_sides_of_a_round_take_turns_to_begin() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return 1.0

    rounds = alternate(3, lambda: side("ours"), lambda: side("theirs"))

    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert len(rounds.pairs) == 3


async def test_a_turn_that_does_not_complete_spoils_the_measurement() -> None:
    async with an_engine(model=ScriptedModel([])) as engine:  # the script is over at once
        (session,) = await make_sessions(engine, 1)

        with pytest.raises(SpoiltError):
            await take_turn(session)


def test_turns_that_end_by_themselves_are_not_counted_as_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancelling, "_hang", lambda _: Say("I am done."))

    with pytest.raises(BaseExceptionGroup) as spoilt:
        cancelling.measure(SIZES["tiny"])

    assert spoilt.value.split(SpoiltError)[1] is None


def test_a_profile_counts_the_steps_of_each_kind_of_task() -> None:
    switches = by_switch(lambda: running.scenario("B6")(SIZES["tiny"]))

    assert switches.steps["actor long-#"] > 0
    assert any("by task switch" in line for line in switches.lines())
    assert kind("actor s-000017") == "actor s-#"


def test_every_peer_is_named_in_the_extra_and_has_a_script() -> None:
    for spec in PEERS:
        assert len(requirements(spec)) == len(spec.packages)
        assert (ROOT / "bench" / "peers" / "scripts" / f"{spec.module}.py").is_file()


def test_a_peer_that_cannot_be_installed_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (command, found):
        monkeypatch.setattr(module, "HOME", tmp_path / "peers")
    monkeypatch.setattr("sys.executable", "/bin/false")
    (spec,) = (spec for spec in PEERS if spec.name == "pykka")

    said = command.install(spec, again=False)
    (peer, *_) = found.peers_for("ask", 1, _with_peers())

    assert said.startswith("cannot be installed: ")
    assert (peer.name, peer.value) == ("pykka", None)
    assert peer.note == said


def test_peers_are_left_out_unless_they_are_wanted() -> None:
    assert found.peers_for("ask", 1, SIZES["tiny"]) == ()


def test_the_scripts_of_peers_import_nothing_of_ours() -> None:
    code = "import bench.peers.scripts.reporting, sys; print([m for m in sys.modules if m.startswith(('actors', 'runtime', 'trio'))])"

    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == "[]"


def _measured(name: str, scale: str, *, peers: bool) -> Outcome:
    del scale, peers
    return running.scenario(name)(SIZES["tiny"])


def _with_peers() -> object:
    import attrs

    return attrs.evolve(SIZES["tiny"], peers=True)
