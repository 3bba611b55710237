"""How long an answer for one program takes: `constparity run`, `constparity watch`, and the floor.

    python tests/scripts/answer_time.py TARGET [ROUNDS] [BEFORE]

Each round takes, one after the other: a saved file under a server that has imported all; the bare
import of JAX; `constparity run TARGET`; and the same in BEFORE, a checkout of an earlier version.
Ratios are taken within a round, so a machine that others use slows both alike. The floor has the
seconds that all sides traced, lowered and compiled, in the run of the round.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from parity_tests.processes.side_environment import FOLDER
from reports.output import json_file
from reports.rows import Campaign

CLI = (sys.executable, "-m", "parity_tests.cli")
ENDS_AN_ANSWER = "Ctrl-C ends it"


class Round(NamedTuple):
    """Seconds by the clock of one round; `of_jax` is the time of all sides added up."""

    answer: float
    imported: float
    of_jax: float
    run: float
    before: float | None


@contextmanager
def server(target: str, printed: Path) -> Iterator[psutil.Process]:
    """Hold a server that watches a target, and prints to a file."""
    with open(printed, "wb") as file:
        process = subprocess.Popen([*CLI, "watch", target], cwd=FOLDER, stdout=file)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def wait_until_idle(watching: psutil.Process) -> None:
    """Wait until the processes of a server have imported all."""
    before = None
    while (now := [each.cpu_times()[:2] for each in watching.children()]) != before or not now:
        before = now
        time.sleep(2)


def saved(file: Path, printed: Path) -> float:
    """Save a file, and return the seconds until the server has answered."""
    answers, begun = printed.read_text().count(ENDS_AN_ANSWER), time.perf_counter()
    os.utime(file)
    while printed.read_text().count(ENDS_AN_ANSWER) == answers:
        time.sleep(0.01)
    return time.perf_counter() - begun


def clocked(command: tuple[str, ...], folder: Path) -> float:
    """Run a command in a folder, and return its seconds."""
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def of_jax(campaign: Campaign) -> float:
    """Add up the seconds that all sides traced, lowered and compiled."""
    found = [each.times for row in campaign.programs for each in row.observations if each.times]
    return sum(each.trace + each.lower + each.compile for each in found)


def rounds(target: str, count: int, before: Path | None) -> Iterator[Round]:
    """Take rounds one after the other."""
    run = (*CLI, "run", target, "-q", "--exit-zero")
    with tempfile.TemporaryDirectory() as name:
        printed, report = Path(name) / "printed", Path(name) / "report.json"
        with server(target, printed) as watching:
            while ENDS_AN_ANSWER not in printed.read_text():
                time.sleep(0.1)
            for _ in range(count):
                wait_until_idle(watching)
                answer = saved(Path(target.partition(":")[0]), printed)
                wait_until_idle(watching)
                imported = clocked((sys.executable, "-c", "import jax; jax.devices()"), FOLDER)
                now = clocked((*run, "--report", f"json:{report}"), FOLDER)
                then = clocked(run, before) if before else None
                floor = of_jax(json_file.load(report))
                yield Round(answer, imported, floor, now, then)


def main() -> None:
    """Print each round, and the medians of the ratios."""
    target, *rest = sys.argv[1:]
    count = int(rest[0]) if rest else 3
    found = []
    for each in rounds(target, count, Path(rest[1]).absolute() if rest[1:] else None):
        found.append(each)
        load = os.getloadavg()[0]
        print(*(f"{name} {value:.2f}" for name, value in each._asdict().items() if value),
              f"load {load:.1f}", flush=True)  # fmt: skip
    for name in ("answer", "run"):
        for other in ("before", "imported", "of_jax"):
            ratios = [
                getattr(each, name) / seconds for each in found if (seconds := getattr(each, other))
            ]
            if ratios:
                print(f"{name} / {other}: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
