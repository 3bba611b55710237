"""Every process of a campaign runs in the interpreter that its sides were asked to run in."""

import sys
from pathlib import Path

from program_files import program_file

from parity_tests.campaign import run
from parity_tests.campaign.options import CampaignOptions
from parity_tests.processes.worker_process import Worker

SIDES = ("jax-legacy", "jax-simplified")


def test_no_process_runs_in_another_interpreter(monkeypatch, tmp_path):
    """A program that differs runs again, alone, in the arbiter, and for the cause of its drift.

    Another one is timed.
    """
    started = []
    start = Worker.start

    def recorded(request, files, side, **how):
        started.append((type(request).__name__, how.get("python")))
        return start(request, files, side, **how)

    monkeypatch.setattr(Worker, "start", recorded)
    monkeypatch.setenv("CONSTPARITY_TEST_MARK", str(tmp_path / "mark"))
    python = Path(sys.executable)
    files = program_file("trust/unrepeatable"), program_file("slower_on_one_side")
    options = CampaignOptions(sides=SIDES, attribute=True, rounds=1, python=python)
    run.run([f"{files[0]}:unseeded_at_import", str(files[1])], options)
    assert {name for name, used in started if used != python} == set()
    assert len(started) > 8
