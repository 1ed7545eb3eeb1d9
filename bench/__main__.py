"""The command ``python -m bench``: every scenario, the peers, and where the time goes."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from bench import running
from bench.peers.command import run_peers
from bench.profiling import run_profile
from bench.sizes import SIZES, Scale
from runtime.cli.bench import machine, table
from runtime.cli.bench.figure import Outcome
from runtime.cli.bench.page import page


def main(arguments: list[str]) -> int:
    """Do what the arguments say; return the exit status."""
    match arguments:
        case ["measure", name, ("full" | "quick" | "tiny") as scale, *peers]:
            outcome = running.measure_here(name, scale, peers=bool(peers))
            sys.stdout.buffer.write(outcome.to_line() + b"\n")
            return 0
        case ["peers", *rest]:
            return run_peers(rest, run_scenarios)
        case ["profile", *rest]:
            return run_profile(rest)
        case _:
            return run_scenarios(arguments)


def run_scenarios(arguments: Sequence[str]) -> int:
    """Measure the chosen scenarios and show them; the exit status says whether every target is met."""
    options = _parsed(arguments)
    scale: Scale = options.scale
    facts = machine.facts()
    print("\n".join([*table.fact_lines(facts), "", table.head()]), flush=True)
    began_s = perf_counter()
    outcomes: list[Outcome] = []
    for name in options.only:
        outcomes.append(running.measure_apart(name, scale, peers=options.peers))
        print("\n".join(table.lines(outcomes[-1])), flush=True)
    taken_s, rounds = perf_counter() - began_s, SIZES[scale].rounds
    print(f"\n{table.verdict(outcomes)}; {scale} sizes, {rounds} rounds, {taken_s:.0f} s")
    _write(options, facts, outcomes, " ".join(["python -m bench", *arguments]))
    return 0 if all(outcome.ok is not False for outcome in outcomes) else 1


def _write(
    options: argparse.Namespace, facts: dict[str, str], outcomes: list[Outcome], command: str
) -> None:
    if options.json is not None:
        lines = [outcome.to_line(machine={**facts}, command=command) for outcome in outcomes]
        options.json.write_bytes(b"".join(line + b"\n" for line in lines))
    if options.html is not None:
        options.html.write_text(page("Greenroom bench", facts, outcomes, command))


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        epilog="Further: python -m bench peers, python -m bench profile SCENARIO.",
    )
    parser.add_argument("--only", default=",".join(running.SCENARIOS), metavar="B1,B4")
    parser.add_argument(
        "--quick",
        dest="scale",
        action="store_const",
        const="quick",
        default="full",
        help="small sizes, about a minute in all",
    )
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        help="let the installed peers do the same work; a quick run leaves them out",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="one JSON line per scenario")
    parser.add_argument("--html", type=Path, metavar="FILE", help="one page with tables and plots")
    options = parser.parse_args(arguments)
    options.peers = options.scale == "full" if options.peers is None else options.peers
    options.only = [name.strip().upper() for name in options.only.split(",")]
    if unknown := [name for name in options.only if name not in running.SCENARIOS]:
        parser.error(f"no scenario {unknown[0]!r}; there are {', '.join(running.SCENARIOS)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
