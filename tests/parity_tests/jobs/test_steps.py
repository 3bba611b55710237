"""The shell of each step runs in a clean folder, with a runner's variables and nothing else.

Steps that use an action of others cannot run here; `NOT_RUN` names them. No index is reached: what
`Install` installs is a wheel of this checkout, and packages that are there.
"""

import json
import sys
from datetime import UTC, datetime

import jax
import pytest
from bare_pythons import make_python
from ci_steps import gitlab_jobs, run_script, steps_of

from parity_tests.environments import making, store
from parity_tests.environments.find_python import InstalledPython
from parity_tests.jobs.publish import ACTION, GITLAB, WORKFLOW, published
from parity_tests.jobs.rendering import workflow_of

NOT_RUN = {
    "actions/cache", "actions/checkout", "actions/download-artifact", "actions/setup-python",
    "actions/upload-artifact", "github/codeql-action/upload-sarif",
}  # fmt: skip
ALL_REPORTS = [
    "comment.md", "findings.sarif", "junit.xml", "report.html", "result.json", "summary.md"
]  # fmt: skip
JAX = jax.__version__
OLD_JAX = "0.9.2"  # constparity cannot be installed beside it
FAST = "--sides jax-legacy,jax-simplified --no-times --no-attribution"
PROJECT = {
    "programs.py": """
import jax.numpy as jnp
from parity_tests import program


@program(args=(jnp.ones(3),))
def doubled(x):
    return 2 * x


@program(args=(jnp.ones(3),))
def raises(x):
    raise ValueError("planted")
""",
    "tests/test_model.py": """
import jax
import jax.numpy as jnp


def test_doubled():
    captured = jnp.ones(3)
    assert jax.jit(lambda x: captured * x)(2.0).sum() == 6


def test_not_run():
    raise AssertionError
""",
    "requirements.txt": "numpy\n",
}


@pytest.fixture
def runner(machine, plant):
    """Run steps one after the other in a planted project, until one fails; return how each ended.

    A step whose condition does not hold is left out, and one without a script cannot run.
    """
    folder = plant(PROJECT)

    def run(steps, values, given=()):
        summary = folder.parent / "summary.md"
        ended, failed = {}, False
        for step in steps:
            if not step.script or not step.is_due(values):
                continue
            if failed and step.condition != "${{ !cancelled() }}":
                continue
            variables = {**machine, **step.variables(values), **dict(given)}
            variables |= {"GITHUB_STEP_SUMMARY": str(summary)}
            ended[step.name] = run_script(step.script, folder, variables)
            failed = failed or ended[step.name].returncode != 0
        return ended

    run.folder = folder
    return run


def values_of(run, jax=JAX, **inputs):
    """The expressions of a step and their values, whether a workflow or an action has them."""
    inputs = {
        "installer": "pip",
        "programs": f"programs.py:doubled {FAST}",
        "project": "-r requirements.txt",
        "python": "3",
        "tests": "tests -k 'not not_run' -q",
        "with": "",
        **inputs,
    }
    given = {"constparity": "from the machine", "jax": jax, "run": run, **inputs}
    values = {f"inputs.{name.replace('_', '-')}": value for name, value in given.items()}
    return {**values, "matrix.jax": jax, "matrix.run": run}


def ours(machine):
    """What the test sets beside the inputs: the requirement is a wheel of this checkout."""
    return {"CONSTPARITY": machine["CONSTPARITY"]}


def statuses(ended):
    return {name: each.returncode for name, each in ended.items()}


def reports(runner, name):
    return sorted(each.name for each in (runner.folder / "constparity-report" / name).iterdir())


@pytest.mark.parametrize("path", [WORKFLOW, ACTION], ids=str)
def test_every_step_either_runs_here_or_is_an_action_of_others(path):
    steps = [step for each in steps_of(published()[path]).values() for step in each]
    assert all(bool(step.script) != bool(step.uses) for step in steps)
    assert {step.uses.partition("@")[0] for step in steps if step.uses} <= NOT_RUN


def test_a_run_of_programs_writes_every_report_and_the_next_takes_over_what_has_not_changed(
    runner, machine
):
    steps = steps_of(published()[WORKFLOW])["compare"]
    first, second = (
        runner(steps, values_of("programs", "installed"), ours(machine)) for _ in range(2)
    )
    assert statuses(first) == {"Install": 0, "Compare programs": 0, "Summary": 0}, first
    assert statuses(second) == statuses(first), second
    assert reports(runner, "programs-installed") == ALL_REPORTS
    summary = (runner.folder.parent / "summary.md").read_text()
    assert summary.startswith("## constparity: programs, JAX installed\n")
    assert "doubled" in summary
    compared = first["Compare programs"]
    assert "unchanged" not in compared.stdout + compared.stderr
    assert "1 of 1 program unchanged since" in second["Compare programs"].stderr


@pytest.mark.parametrize("then", ["constparity==1", "constparity==2"])
def test_a_result_is_taken_over_from_the_same_constparity_alone(runner, tmp_path, then):
    """A recorder stands for `constparity`, whose commits may share a version."""
    shim, recorded = tmp_path / "bin" / "constparity", tmp_path / "recorded"
    shim.parent.mkdir()
    result = "constparity-report/programs-installed/result.json"
    shim.write_text(f'#!/bin/sh\necho "$@" > {recorded}\ntouch {result}\n')
    shim.chmod(0o755)
    [step] = [each for each in steps_of(published()[ACTION])["action"] if "PROGRAMS" in each.env]
    for requirement in ("constparity==1", then):
        given = {"CONSTPARITY": requirement, "PATH": f"{shim.parent}:/usr/bin:/bin"}
        ended = runner([step], values_of("programs", "installed"), given)
        assert statuses(ended) == {"Compare programs": 0}, ended
    assert ("--only-changed" in recorded.read_text()) == (then == "constparity==1")


def test_a_program_that_cannot_be_compared_fails_its_step_and_is_in_the_summary(runner, machine):
    steps = steps_of(published()[ACTION])["action"]
    values = values_of("programs", "installed", programs=f"programs.py:raises {FAST}")
    ended = runner(steps, values, ours(machine))
    assert statuses(ended) == {"Install": 0, "Compare programs": 2, "Summary": 0}, ended
    assert "raises" in (runner.folder.parent / "summary.md").read_text()


@pytest.fixture
def environment(machine, monkeypatch):
    """Put an environment of a JAX into the machine's store, as a cache brings it back.

    Its packages are those of the tests. Returns its Python.
    """
    monkeypatch.setenv("CONSTPARITY_ENVIRONMENTS", machine["CONSTPARITY_ENVIRONMENTS"])
    monkeypatch.setattr(
        making.find_python,
        "find",
        lambda jax, needs_venv: InstalledPython(sys.executable, sys.version_info[:3], True),
    )

    def planted(jax):
        path = store.store_folder() / f"planted-{jax}"
        plan = making.planned(jax, ("numpy",))
        make_python(path)
        store.finish(
            store.Environment(
                path=path,
                requested=plan.requested,
                jax=jax,
                jaxlib=jax,
                python_version=".".join(map(str, sys.version_info[:3])),
                with_=("numpy",),
                packages=(),
                made=datetime(2026, 11, 22, tzinfo=UTC),
            )
        )
        return path / "bin" / "python"

    return planted


def test_programs_run_in_an_environment_of_the_release(runner, machine, environment):
    environment(JAX)
    steps = steps_of(published()[WORKFLOW])["compare"]
    values = values_of("programs", project="not-there", **{"with": "numpy"})
    ended = runner(steps, values, ours(machine))
    assert statuses(ended) == {"Install": 0, "Compare programs": 0, "Summary": 0}, ended
    result = runner.folder / "constparity-report" / f"programs-{JAX}" / "result.json"
    observed = json.loads(result.read_text())["programs"][0]["observations"]
    assert observed
    assert "making an environment" not in ended["Compare programs"].stderr


def test_the_tests_run_on_both_pipelines(runner, machine, facts_of):
    steps = steps_of(workflow_of(facts_of(runner.folder, ("github",))))["compare"]
    given = {**ours(machine), "TESTS": "tests -k 'not not_run' -q"}
    ended = runner(steps, {"matrix.run": "both", "matrix.jax": JAX}, given)
    assert statuses(ended) == {"Install": 0, "Compare tests": 0, "Summary": 0}, ended
    assert "1 passed, 1 deselected" in ended["Compare tests"].stdout
    assert reports(runner, f"both-{JAX}") == ALL_REPORTS
    assert "1 program of 1 test" in (runner.folder.parent / "summary.md").read_text()
    assert f"jax=={JAX}" in ended["Install"].stdout


def test_the_tests_run_on_one_pipeline_alone(runner, machine):
    """Nothing is compared then, so pytest's own JUnit is the only report."""
    steps = steps_of(published()[ACTION])["action"]
    ended = runner(steps, values_of("simplified", "installed"), ours(machine))
    assert statuses(ended) == {"Install": 0, "Compare tests": 0, "Summary": 0}, ended
    assert reports(runner, "simplified-installed") == ["comment.md", "junit.xml"]
    assert not (runner.folder.parent / "summary.md").exists()


def test_a_suite_in_fresh_processes_has_the_python_of_a_release_that_the_plugin_cannot_have(
    runner, machine, environment, tmp_path
):
    """A recorder stands for pytest, for this is about how it is called."""
    python = environment(OLD_JAX)
    recorded = tmp_path / "recorded"
    shim = tmp_path / "bin" / "python"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {recorded}\n')
    shim.chmod(0o755)
    steps = steps_of(published()[WORKFLOW])["compare"]
    values = values_of("jax-both", OLD_JAX, **{"with": "numpy"})
    install, compare = (step for step in steps if step.name in ("Install", "Compare tests"))
    assert statuses(runner([install], values, ours(machine))) == {"Install": 0}
    ended = runner([compare], values, {"PATH": f"{shim.parent}:{machine['PATH']}"})
    assert statuses(ended) == {"Compare tests": 0}, ended
    words = recorded.read_text().splitlines()
    assert words[:4] == [
        "-m", "pytest", "--constparity=jax-both", f"--constparity-python={python}"
    ]  # fmt: skip
    assert words[-4:] == ["tests", "-k", "not not_run", "-q"]
    report = f"constparity-report/jax-both-{OLD_JAX}"
    formats = [word.removeprefix("--constparity-report=") for word in words[4:-4]]
    assert sorted(each.partition(f":{report}/")[2] for each in formats) == ALL_REPORTS


@pytest.mark.parametrize("run", ["both", "jax-both", "programs"])
def test_uv_installs_into_the_python_of_the_job(runner, machine, tmp_path, run):
    """A recorder stands for uv. `programs` has uv installed, for an environment of that JAX."""
    shim = tmp_path / "bin" / "uv"
    shim.parent.mkdir()
    shim.write_text('#!/bin/sh\nprintf "%s " "$@"\n')
    shim.chmod(0o755)
    [install] = [
        step for step in steps_of(published()[WORKFLOW])["compare"] if step.name == "Install"
    ]
    given = {"CONSTPARITY": "constparity", "PATH": f"{shim.parent}:{machine['PATH']}"}
    values = values_of(run, installer="uv", project="-e '.[a, b]'")
    done = runner([install], values, given)["Install"]
    python = machine["PATH"].partition(":")[0] + "/python"
    packages = "uv" if run == "programs" else f"jax=={JAX} -e .[a, b]"
    assert done.stdout == f"pip install --python {python} constparity {packages} "


def test_a_job_that_does_not_say_what_installs_constparity_stops(runner):
    [install, *_] = (each for each in steps_of(published()[ACTION])["action"] if each.script)
    ended = runner([install], values_of("both", constparity=""), {"CONSTPARITY": ""})
    assert ended["Install"].returncode != 0
    assert "CONSTPARITY: is empty: name what pip installs" in ended["Install"].stderr
    [comment] = (runner.folder / "constparity-report").glob("*/comment.md")
    assert comment.read_text().startswith("**No report**: this run failed or was ended.")


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("Install", {"project": "not-there"}, "not-there"),
        ("Install", {"project": "'open"}, "unmatched single quote"),
        ("Compare programs", {"programs": f"gone.py {FAST}"}, "gone.py"),
        ("Compare programs", {"programs": "'open"}, "unmatched single quote"),
        ("Compare programs", {"programs": " "}, "PROGRAMS is empty: name targets"),
    ],
)
def test_a_wrong_input_fails_its_step_and_is_named(runner, machine, name, inputs, said):
    steps = steps_of(published()[WORKFLOW])["compare"]
    step = [each for each in steps if each.name in ("Install", name)]
    ended = runner(step, values_of("programs", "installed", **inputs), ours(machine))
    assert ended[name].returncode != 0
    assert said in ended[name].stdout + ended[name].stderr


def test_text_of_an_input_is_never_run(runner, machine):
    """Commands in a value stay a value: nothing of it reaches the shell as a script."""
    planted = f"programs.py:doubled '$(touch planted)' \"`touch planted`\" ;touch planted {FAST}"
    steps = steps_of(published()[WORKFLOW])["compare"]
    ended = runner(steps, values_of("programs", "installed", programs=planted), ours(machine))
    assert ended["Compare programs"].returncode == 4
    assert not (runner.folder / "planted").exists()


def test_the_script_of_gitlab_compares_programs(runner, machine):
    job = gitlab_jobs(published()[GITLAB])[0]["constparity"]
    inputs = {name.removeprefix("inputs."): text for name, text in values_of("").items()}
    variables = {
        **machine,
        **{
            name: inputs.get(str(value)[len("$[[ inputs.") : -len(" ]]")], "")
            for name, value in job["variables"].items()
            if str(value).startswith("$[[")
        },
        "RUN": "programs",
        "JAX": "installed",
        **ours(machine),
    }
    done = run_script("\n".join(job["script"]), runner.folder, variables)
    assert done.returncode == 0, done.stderr
    assert "junit.xml" in reports(runner, "programs-installed")
