"""Shared by the tester's tests: files of programs, and a campaign that runs once."""

from pathlib import Path

import pytest
from program_files import program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import Campaign, ProgramRow


@pytest.fixture(scope="session")
def faults_file() -> Path:
    return program_file("faults")


@pytest.fixture(scope="session")
def good_file() -> Path:
    return program_file("good_programs")


@pytest.fixture(scope="session")
def progress() -> list[tuple[int, int, str]]:
    return []


@pytest.fixture(scope="session")
def faults(faults_file: Path, progress: list[tuple[int, int, str]]) -> Campaign:
    """The planted faults on both stock sides, as an idle machine has them."""
    found = run.run(
        [str(faults_file)],
        CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=8.0),
        progress=lambda *step: progress.append(step),
    )
    return found.model_copy(update={"provenance": ()})


@pytest.fixture(scope="session")
def rows(faults: Campaign) -> dict[str, ProgramRow]:
    return {row.name: row for row in faults.programs}
