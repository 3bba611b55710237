"""The example project of the docs: from tests that pass to a failing parity job, and to green.

The shell of the written job runs here, but for its step `Install`: constparity is there.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ci_steps import run_script, steps_of
from system_programs import needed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "parity_job"
INIT = "constparity init --ci github --constparity constparity==1"
PAGE = (EXAMPLE / "README.md").read_text("utf-8")
WORKFLOW = ".github/workflows/constparity.yml"


@pytest.fixture
def project(tmp_path):
    """A copy of the example, with a Python that knows constparity, and no job yet."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, words in (("python", ""), ("constparity", "-m parity_tests.cli")):
        shim = binaries / name
        shim.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        shim.chmod(0o755)
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
    text = (project / "fix.patch").read_bytes()
    subprocess.run(
        [needed("patch"), "-p1"], cwd=project, input=text, check=True, capture_output=True
    )


def test_from_nothing_to_a_failing_job_and_to_green(project):
    assert run(project, "python -m pytest -q").returncode == 0
    assert run(project, f"{INIT} --yes").returncode == 0
    assert not run(project, f"{INIT} --diff").stdout

    ended, summary = job(project, "programs")
    assert ended["Compare programs"].returncode == 1
    assert "- flip: no. It breaks or changes 1 of 1 programs (within_budget)" in summary
    proposed = "find captured arrays in the Literals of eqn.invars"
    assert "model.py:17" in summary
    assert proposed in summary
    [said] = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    headline = ended["Compare programs"].stdout.splitlines()[0]
    assert re.fullmatch(".*".join(map(re.escape, " ".join(said.split()).split("…"))), headline)

    patch(project)
    ended, summary = job(project, "programs")
    assert ended["Compare programs"].returncode == 0, ended
    assert "flip: yes" in summary


@pytest.mark.deep
def test_its_suite_fails_after_the_flip_until_it_is_fixed(project):
    assert run(project, f"{INIT} --yes").returncode == 0
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
def test_both_pipelines_agree_on_what_its_tests_compute(project):
    found = run(project, "python -m pytest -q --constparity=simplified")
    assert found.returncode == 1
    patch(project)
    for mode in ("simplified", "both"):
        assert run(project, f"python -m pytest -q --constparity={mode}").returncode == 0
