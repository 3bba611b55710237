"""The shell of the guides runs, and each command ends with 0, for nothing changes for its program.

`run` makes its row up; in `test_examples.py` it measures.
"""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from doc_blocks import PAGES, blocks
from kept_runs import keep
from quick_tasks import row

from parity_tests.cli import app
from parity_tests.processes import early_starts
from parity_tests.run import run
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
STEP = row("step").model_copy(update={"source": "my_model.py:9"})
# Commands that are not run here, by how they begin, and where they are, or what they need.
LEFT_OUT = {
    r"make |\.venv/|\. \.venv|git clone|pip install|cp -rn": "the network, and minutes",
    r"python tests/(helpers|scripts)/": "the network, and minutes",
    r"constparity (environments|scorecard|.*--(jax|python)[ =])": "other releases of JAX",
    r"constparity run \$\(ls|pytest FOLDER": "other releases of JAX",
    r"dask |constparity campaign .*--scheduler": "a cluster",
    r"constparity (campaign|merge) ": "tests/parity_tests/campaign/",
    r"pytest( --constparity[\w-]*(=\S+)?)+( -n 4)?$": "tests/parity_tests/suites/",
    r"(constparity run|python) corpus": "tests/parity_tests/suites/test_collected_programs.py",
    r"constparity init": "tests/parity_tests/cli/test_init.py",
    r"(constparity (bisect|sites) -- |\w+=0 )python train\.py": "tests/examples/test_examples.py",
}


def commands_of(page):
    """The commands of the shell blocks of a page, without comments and what they are piped to."""
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").splitlines():
            if command := re.sub(r"\s+(#|\| ).*|^#.*", "", line):
                yield command


def are_run(page):
    found = [*commands_of(page)]
    return [each for each in found if not any(re.match(begins, each) for begins in LEFT_OUT)]


# The steps of the parity job are those of its own test.
SHELL = {page: are_run(page) for page in PAGES if page.parent.name != "parity_job"}


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


@pytest.mark.parametrize(
    "commands", [pytest.param(found, id=page.stem) for page, found in SHELL.items() if found]
)
@pytest.mark.usefixtures("project")
def test_each_command_ends_with_0(commands):
    for command in commands:
        name, *words = shlex.split(command)
        assert name == "constparity", command
        assert app.main(words) == 0, command


@pytest.mark.parametrize("begins", LEFT_OUT)
def test_nothing_is_left_out_in_vain(begins):
    assert any(re.match(begins, each) for page in PAGES for each in commands_of(page))
