"""Shared by the tester's tests: files of programs, and a campaign that runs once."""

import fcntl
import json
import os
from pathlib import Path

import pytest
from program_files import program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.output import json_file
from reports.rows import Campaign, ProgramRow


@pytest.fixture(scope="session")
def faults_file() -> Path:
    return program_file("faults")


@pytest.fixture(scope="session")
def good_file() -> Path:
    return program_file("good_programs")


@pytest.fixture(scope="session")
def told(faults_file, tmp_path_factory) -> Path:
    """A folder with the planted faults on both stock sides, and with what was said meanwhile.

    The workers of a run of tests share it; the first one makes it.
    """
    run_of_tests = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = tmp_path_factory.getbasetemp().parent / f"faults-{run_of_tests}"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "progress.json").exists():
            steps: list[tuple[int, int, str]] = []
            options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=5.0)
            found = run.run([str(faults_file)], options, progress=lambda *step: steps.append(step))
            (folder / "faults.json").write_text(json_file.render(found), "utf-8")
            (folder / "progress.json").write_text(json.dumps(steps))
    return folder


@pytest.fixture(scope="session")
def progress(told: Path) -> list[tuple[int, int, str]]:
    return [tuple(step) for step in json.loads((told / "progress.json").read_text())]


@pytest.fixture(scope="session")
def faults(told: Path) -> Campaign:
    """The planted faults on both stock sides, as an idle machine has them."""
    return json_file.load(told / "faults.json").model_copy(update={"provenance": ()})


@pytest.fixture(scope="session")
def rows(faults: Campaign) -> dict[str, ProgramRow]:
    return {row.name: row for row in faults.programs}
