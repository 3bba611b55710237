"""The shell of the guides runs, and each command ends with 0, for nothing changes for its program.

`run` and `campaign` make their rows up. Each block has a project of its own.
"""

import itertools
import re
import shlex
import shutil
from pathlib import Path

import pytest
import quick_tasks
from built_campaigns import ENVIRONMENT
from doc_blocks import LEFT_OUT, LONG, PAGES, blocks, commands_of, is_quick, runs_in_part
from kept_runs import keep

from parity_tests.campaign import plan, task_process
from parity_tests.cli import app
from parity_tests.processes import early_starts
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run import run
from parity_tests.run.collection import Collected
from reports.output import json_file

MODEL = """
import jax.numpy as jnp
import numpy as np
from parity_tests import program

WEIGHTS = jnp.arange(64.0)


@program(args=(np.float32(2.0),))
def step(x):
    return x * WEIGHTS
"""
STEP = quick_tasks.row("step").model_copy(update={"source": "my_model.py:9"})
# Without the parity job's page, whose own test takes its steps.
SHELL = [
    pytest.param([each for each in commands_of(block) if is_quick(each)], id=page.stem)
    for page in PAGES
    if page.parent.name != "parity_job"
    for block in blocks(page, "sh")
    if runs_in_part(block)
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Stand in a project that has a result and a store with a run; `run` keeps one more."""

    def ran(targets, options, **_):
        return keep(options.store or Path("other.db"), STEP)

    monkeypatch.setattr(run, "run", ran)
    monkeypatch.setattr(early_starts, "of_campaign", lambda sides: [])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("my_model.py").write_text(MODEL)
    Path("src").mkdir()
    shutil.copy("my_model.py", "src")
    Path("result.json").write_text(json_file.render(keep(Path("runs.db"), STEP)))


@pytest.fixture
def campaign(monkeypatch):
    """Plan a campaign of programs that are not there, and run its tasks in no process."""
    listed = [Listed(name=f"{n}", target=f"my_model.py:{n}") for n in range(16)]
    collected = Collected(Listing(programs=listed, environment=ENVIRONMENT))
    monkeypatch.setattr(plan, "collect", lambda *_: collected)
    monkeypatch.setattr(plan, "_environment_of", lambda *_: ENVIRONMENT)
    monkeypatch.setattr(task_process, "run_here", lambda tasks, **_: quick_tasks.run(tasks))
    Path("nightly.toml").write_text("[[corpus]]\nname = 'models'\ntargets = ['my_model.py']\n")


def with_other_shards(command):
    """The commands of all jobs, where a page shows that of the third of eight."""
    jobs = range(1, 9) if "--shard 3/8" in command else [3]
    return [command.replace(" 3/8 ", f" {job}/8 ").replace(" 3.db", f" {job}.db") for job in jobs]


@pytest.mark.parametrize("commands", SHELL)
@pytest.mark.usefixtures("project", "campaign")
def test_each_command_ends_with_0(commands):
    for command in itertools.chain(*map(with_other_shards, commands)):
        name, *words = shlex.split(command)
        assert name == "constparity", command
        assert app.main(words) == 0, command


def comments_in(block):
    return [line for line in block.splitlines() if re.search(r"(^|\s)# ", line)]


def test_no_command_that_runs_has_a_comment_which_no_test_reads():
    ran = [block for page in PAGES for block in blocks(page, "sh") if runs_in_part(block)]
    told = [line for block in ran for line in comments_in(block)]
    assert [line for line in told if is_quick(line)] == []
    planted = "constparity history --store runs.db  # deletes the store\n"
    assert runs_in_part(planted)
    assert comments_in(planted)


@pytest.mark.parametrize("begins", [*LONG, *LEFT_OUT])
def test_nothing_is_left_out_in_vain(begins):
    shell = "".join(block for page in PAGES for block in blocks(page, "sh"))
    assert any(re.match(begins, each) for each in commands_of(shell))
