"""The example project of the docs: from tests that pass to a failing parity job, and to green.

The shell of the written job runs here, but for its step `Install`: constparity is there.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest
from ci_steps import run_script, steps_of
from doc_blocks import blocks, commands_in, says
from system_programs import needed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "parity_job"
PAGE = EXAMPLE / "README.md"
[BEGIN] = blocks(PAGE, "sh")
BROKEN, FIXED = map(commands_in, blocks(PAGE, "console"))
WORKFLOW = ".github/workflows/constparity.yml"


@pytest.fixture
def project(tmp_path):
    """The example after the page's first commands, with a Python that knows constparity."""
    needed("git")
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, tmp_path / EXAMPLE.relative_to(ROOT))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    modules = {"python": "", "pytest": "-m pytest", "constparity": "-m parity_tests.cli"}
    for name, words in modules.items():
        shim = binaries / name
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        shim.chmod(0o755)
    done = run_script(BEGIN, tmp_path, variables(folder))
    assert done.returncode == 0, done
    assert "2 passed" in done.stdout
    return folder


def run(project, command):
    return run_script(command, project, variables(project))


def variables(project):
    return {
        "HOME": str(project.parent),
        "JAX_PLATFORMS": "cpu",
        "PATH": f"{project.parent / 'bin'}:/usr/bin:/bin",
        # Those that have nothing to do with ours take long to import.
        "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:jaxtyping",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", ""),
        "XLA_FLAGS": os.environ["XLA_FLAGS"],
    }


def job(project, run_, given=()):
    """Run the steps of the written job that compare and sum up; return how each ended."""
    summary = project.parent / f"summary-{run_}.md"
    values = {"matrix.run": run_, "matrix.jax": "installed"}
    ended = {}
    for step in steps_of((project / WORKFLOW).read_text())["compare"]:
        if step.script and step.name != "Install" and step.is_due(values):
            given = {**variables(project), **step.variables(values), **dict(given)}
            ended[step.name] = run_script(
                step.script, project, {**given, "GITHUB_STEP_SUMMARY": str(summary)}
            )
    return ended, summary.read_text() if summary.exists() else ""


def patch(project):
    needed("patch")
    [(command, *_), *_] = FIXED
    assert run(project, command).returncode == 0


def test_commands_print_what_the_page_says(project):
    needed("patch")
    for command, said, status in (*BROKEN, *FIXED):
        done = run(project, command)
        assert says(said, done.stdout), done
        assert done.returncode == status


@pytest.mark.deep
def test_from_nothing_to_a_failing_job_and_to_green(project):
    assert not run(project, BEGIN.splitlines()[-1].replace("--yes", "--diff")).stdout
    ended, summary = job(project, "programs")
    assert ended["Compare programs"].returncode == 1
    assert "- flip: no. It breaks or changes 1 of 1 programs (within_budget)" in summary
    proposed = "find captured arrays in the Literals of eqn.invars"
    assert "model.py:17" in summary
    assert proposed in summary

    patch(project)
    ended, summary = job(project, "programs")
    assert ended["Compare programs"].returncode == 0, ended
    assert "flip: yes" in summary


@pytest.mark.deep
def test_its_suite_fails_after_the_flip_until_it_is_fixed(project):
    ended, summary = job(project, "jax-both")
    assert ended["Compare tests"].returncode == 1, ended
    report = project / "constparity-report" / "jax-both-installed"
    for told in (ended["Compare tests"].stdout, summary, (report / "comment.md").read_text()):
        assert "assert 0 == 256" in told
    assert "**parity**" not in summary
    patch(project)
    ended, _ = job(project, "jax-both")
    assert ended["Compare tests"].returncode == 0, ended


@pytest.mark.deep
def test_its_tests_pass_on_simplified_and_shadow_mode_has_nothing_to_compare(project):
    found = run(project, "python -m pytest -q --constparity=simplified")
    assert found.returncode == 1
    patch(project)
    assert run(project, "python -m pytest -q --constparity=simplified").returncode == 0
    # Its tests jit nothing, so there is nothing to compare, which is no success.
    found = run(project, "python -m pytest -q --constparity=both")
    assert found.returncode == 1
    assert "nothing was compared: 2 tests passed" in found.stdout
