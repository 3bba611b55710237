"""What a task leaves of its programs."""

import os
import zlib
from types import SimpleNamespace

import pytest

from parity_tests.campaign import running
from parity_tests.campaign.generated import name_of
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.running import run_task
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.tasks import Task
from reports.output import json_file
from reports.rows import Failure, Observation
from tests.helpers.built_grids import ENVIRONMENT
from tests.helpers.quick_tasks import row


@pytest.fixture
def ran(monkeypatch):
    """Run a task of one program, which fails; return the row that is kept of it."""

    def run(program, folder):
        def campaign(targets, options, *, progress, first):
            [target] = targets
            file = target.rpartition(":")[0]
            failure = Failure(
                kind="exception",
                stage="trace",
                type="ValueError",
                message="no",
                traceback=f'File "{os.path.abspath(file)}", line 3',
                where=f"{os.path.relpath(file)}:3",
            )
            found = row(program.name).model_copy(
                update={
                    "source": f"{file}:1",
                    "target": target,
                    "observations": (
                        Observation(program=program.name, side="legacy", failure=failure),
                    ),
                }
            )
            return SimpleNamespace(programs=[found], environment=ENVIRONMENT)

        monkeypatch.setattr(running.campaign, "run", campaign)
        [task] = Task(campaign=CampaignSpec(self_comparison=False)).cut([program])
        [kept] = run_task(task, folder).programs
        return json_file.program_of(zlib.decompress(kept.packed).decode())

    return run


def test_a_generated_program_names_no_file_of_its_task(ran, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / 'a \\ "folder" é' / "key"
    folder.mkdir(parents=True)
    program = PlannedProgram(
        place=0, environment="here", corpus="generated", name=name_of(7, 0), seed=7, number=0
    )
    found = ran(program, folder)
    assert (found.source, found.target) == ("generated", "")
    failure = found.observations[0].failure
    assert (failure.where, failure.traceback) == ("generated.py:3", 'File "generated.py", line 3')


def test_a_program_of_a_file_names_it(ran, tmp_path):
    program = PlannedProgram(
        place=0, environment="here", corpus="models", name="step", target="models.py:step"
    )
    found = ran(program, tmp_path)
    assert (found.source, found.target) == ("models.py:1", "models.py:step")
    assert found.observations[0].failure.where == "models.py:3"
