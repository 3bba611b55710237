"""Sites planted in commands over libraries: each is found, and nothing where nothing is planted.

CONSTPARITY_TEST_PLANTED=all takes all of them (`make deep`), each among sites of libraries.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from program_files import program_file

from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import Ended, Runner, Until
from parity_tests.bisect.sites import Flips
from reports.rows.bisection import Bisection

PLANTED = {
    "reader": "exit", "overwritten": "exit", "donated": "exit", "helper_of_a_helper": "exit",
    "branch": "exit", "chaos": r"value:orbit=(\S+) 1e-4", "together": "exit", "placement": "exit",
    "two_devices": "exit", "committed": "exit", "text_of_module": "exit", "memory": "exit",
    "guarded": "exit", "twice": "exit", "derivative": "exit", "scanned": "exit", "thread": "exit",
    "child": "exit",
    "model": "exit",
    "equinox_reader": "exit", "optimiser": "exit", "flaky": "exit",
}  # fmt: skip
FILE = program_file("bisect/planted")
ALL = os.environ.get("CONSTPARITY_TEST_PLANTED") == "all"


def bisected(name: str, folder: Path, until: str) -> Bisection:
    command = (sys.executable, str(FILE), name, *(() if ALL else ("alone",)))
    kept = KeptRuns(folder / "runs.jsonl")
    return Bisecting(Runner(command, timeout=120.0), Until.of(until), kept).run()


@pytest.mark.parametrize("name", [*PLANTED, "nothing"] if ALL else ["together"])
def test_what_is_planted_is_found(name: str, tmp_path: Path) -> None:
    found = bisected(name, tmp_path, PLANTED.get(name, "exit"))
    said = f"{name}: {found.runs} runs, at most {found.bound} for one of {found.sites} sites"
    print(f"\n{said}; {found.seconds:.0f} s, stock {found.stock.off} {found.stock.on}")
    if name == "nothing":
        assert found.answer == "passes"
        return
    [only] = found.sets
    marked = {
        number
        for number, line in enumerate(FILE.read_text().splitlines(), 1)
        if line.rstrip().endswith(f"# {name}")
    }
    lines = {site.line for site in only.sites}
    assert lines == ({2} if name == "child" else marked)
    assert len(only.sites) > 1 or found.runs <= found.bound or name == "flaky"


def outcomes(ended: Ended) -> dict[str, str]:
    """What became of each program, and what it printed."""
    lines = [line.split(maxsplit=1) for line in ended.output.splitlines() if line.strip()]
    found = {line[0]: line[1] for line in lines if line[0] in PLANTED}
    printed = [line[0] for line in lines if line[0].startswith("orbit=")]
    return {**found, "chaos": printed[0]}


def test_what_is_flipped_behaves_as_stock_jax_does_after_the_flip() -> None:
    runner = Runner((sys.executable, str(FILE), "each", "alone"), timeout=300.0)
    before, after = (outcomes(runner.flipped(Flips.of(text))) for text in ("none", "all"))
    assert before == outcomes(runner.on_stock(flag=False))
    assert after == outcomes(runner.on_stock(flag=True))
    assert {name for name in PLANTED if before.get(name) != after.get(name)} == {
        name for name in PLANTED if name not in ("flaky", "model", "equinox_reader", "optimiser")
    }
