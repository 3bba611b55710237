"""The linters of CI files find nothing in ours, and what is planted in them."""

import json
import os
import re
from pathlib import Path

import ci_linters
import pytest
import yaml
from ci_steps import OF_GITLAB, OF_RUNNER, gitlab_jobs, steps_of
from doc_blocks import excerpt

from parity_tests.jobs.publish import ACTION, GITLAB, WORKFLOW, published
from parity_tests.jobs.rendering import gitlab_jobs_of, workflow_of

FILES = published()
ROOT = Path(__file__).parents[3]
CHECKS = ROOT / ".github" / "workflows" / "checks.yml"
MARKED = "import parity_tests\n\n\n@parity_tests.program(args=())\ndef f():\n    pass\n"


@pytest.fixture
def rendered(plant, facts_of):
    """The facts of a project whose names need quotes in YAML and in a shell."""
    files = {"tests/test_a.py": "", "models/it's.py": MARKED, "requirements.txt": "a @ file:/x y\n"}
    return facts_of(plant({**files, "Makefile": "t:\n\tpytest -k 'a and \"b: c\"'\n"}), ("github",))


@pytest.fixture
def written(tmp_path):
    """Write a workflow or an action where its linters look for one."""

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


@pytest.fixture(params=["called", "own", "of this repository"])
def workflow(request, rendered):
    if request.param == "of this repository":
        return CHECKS.read_text("utf-8")
    return FILES[WORKFLOW] if request.param == "called" else workflow_of(rendered)


def test_a_workflow_is_faultless(workflow, written):
    file = written(WORKFLOW, workflow)
    assert ci_linters.schema("github-workflows", file) == ""
    assert ci_linters.zizmor(file) == ""


def test_actionlint_finds_nothing_in_a_workflow(workflow):
    assert ci_linters.actionlint(workflow) == ""


def test_the_checks_of_this_repository_are_commands_that_there_are():
    [job] = yaml.safe_load(CHECKS.read_text("utf-8"))["jobs"].values()
    lists = re.findall(r"'(\[.*?\])'", job["strategy"]["matrix"]["command"])
    commands = [command for each in lists for command in json.loads(each)]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = [word for each in commands if each.startswith("make ") for word in each.split()[1:]]
    assert [each for each in targets if not re.search(rf"^{each}:", makefile, re.M)] == []
    assert [each for each in commands if not each.startswith("make ")] == [".ci/run"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert {"dist-check", "deep"} <= set(targets)


def test_the_action_is_faultless(written):
    file = written(ACTION, FILES[ACTION])
    assert ci_linters.schema("github-actions", file) == ""
    assert ci_linters.zizmor(file) == ""


def filled(text):
    """The jobs of the GitLab file, with the defaults of its inputs in place."""
    jobs, inputs = gitlab_jobs(text)

    def fill(found):
        if isinstance(found, dict):
            return {name: fill(each) for name, each in found.items()}
        if isinstance(found, list):
            return [fill(each) for each in found]
        if not isinstance(found, str):
            return found
        for name, value in inputs.items():
            if found == f"$[[ inputs.{name} ]]":
                return "of the caller" if value is None else value
            found = found.replace(f"$[[ inputs.{name} ]]", str(value))
        return found

    return yaml.safe_dump(fill(jobs))


@pytest.mark.parametrize("kind", ["called", "own"])
def test_the_jobs_of_gitlab_are_faultless(kind, rendered, written):
    text = filled(FILES[GITLAB]) if kind == "called" else gitlab_jobs_of(rendered, "test")
    assert "$[[" not in text
    assert ci_linters.schema("gitlab-ci", written("jobs.yml", text)) == ""


def test_actionlint_finds_nothing_in_the_calling_workflow_of_the_docs():
    assert ci_linters.actionlint(excerpt("guide-ci.md", "# .github/workflows/parity.yml")) == ""


def test_the_calling_workflow_of_the_docs_gives_inputs_and_permissions_that_there_are():
    text = excerpt("guide-ci.md", "# .github/workflows/parity.yml")
    called, [job] = yaml.safe_load(FILES[WORKFLOW]), yaml.safe_load(text)["jobs"].values()
    # YAML takes the key `on` for a truth value.
    inputs = called[True]["workflow_call"]["inputs"]
    assert {name for name, each in inputs.items() if each.get("required")} <= set(job["with"])
    assert set(job["with"]) <= set(inputs)
    granted = {}
    for each in called["jobs"].values():
        granted |= each["permissions"]
    assert job["permissions"] == granted


def test_the_calling_pipeline_of_the_docs_names_inputs_that_there_are():
    [included] = yaml.safe_load(excerpt("guide-ci.md", "# .gitlab-ci.yml"))["include"]
    inputs = gitlab_jobs(FILES[GITLAB])[1]
    assert {name for name, default in inputs.items() if default is None} <= set(included["inputs"])
    assert set(included["inputs"]) <= set(inputs)


def scripts():
    """Each script of the published files: its name, its text, and the variables that it has."""
    for path in (WORKFLOW, ACTION):
        for job, steps in steps_of(FILES[path]).items():
            for step in filter(lambda step: step.script, steps):
                yield f"{path.stem}-{job}-{step.name}", step.script, (*step.env, *OF_RUNNER)
    for name, job in gitlab_jobs(FILES[GITLAB])[0].items():
        known = (*job["variables"], "JAX", "RUN", *OF_GITLAB)
        yield f"gitlab-{name}", "\n".join(job["script"]), known


@pytest.mark.parametrize(
    ("script", "variables"), [each[1:] for each in scripts()], ids=[each[0] for each in scripts()]
)
def test_the_shell_of_each_step_is_faultless(script, variables):
    names = " ".join(variables)
    # Without its first lines, each variable of the step would be one that nobody sets.
    assert ci_linters.shellcheck(f"read -r {names}\nexport {names}\n{script}") == ""
    assert "${{" not in script  # a value of GitHub's is data, and never a part of a script


def test_each_step_uses_every_variable_that_it_has():
    for steps in steps_of(FILES[WORKFLOW]).values():
        for step in steps:
            unused = [name for name in step.env if name not in step.script and name != "GH_TOKEN"]
            assert not unused, step.name


@pytest.mark.parametrize(
    ("stands", "planted", "said"),
    [
        ("timeout-minutes: 120", "timeout-minute: 120", "timeout-minute"),
        ("matrix.jax }}\n          PROGRAMS", "matrix.jaxx }}\n          PROGRAMS", "jaxx"),
        ("if [[ -f $summary ]]", "echo ${{ github.head_ref }}; if [[ -f $summary ]]", "head_ref"),
    ],
)
def test_actionlint_finds_what_is_planted(stands, planted, said):
    assert stands in FILES[WORKFLOW]
    assert said in ci_linters.actionlint(FILES[WORKFLOW].replace(stands, planted))


@pytest.mark.parametrize(
    ("stands", "planted", "said"),
    [
        (
            'echo "## constparity',
            'echo "${{ github.event.pull_request.title }} ## constparity',
            "template-injection",
        ),
        ("persist-credentials: false", "fetch-depth: 1", "artipacked"),
        ("    permissions:\n      contents: read", "    permissions: write-all", "permissions"),
        ("@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0", "@v5", "unpinned-uses"),
    ],
)
def test_zizmor_finds_what_is_planted(written, stands, planted, said):
    assert stands in FILES[WORKFLOW]
    file = written(WORKFLOW, FILES[WORKFLOW].replace(stands, planted))
    assert said in ci_linters.zizmor(file)


@pytest.mark.parametrize(
    ("schema", "path", "stands", "planted"),
    [
        ("github-workflows", WORKFLOW, "fail-fast: false", "fail-fats: false"),
        ("github-actions", ACTION, "using: composite", "using: composites"),
        ("gitlab-ci", GITLAB, "parallel:", "paralel:"),
    ],
)
def test_a_schema_finds_what_is_planted(written, schema, path, stands, planted):
    text = filled(FILES[path]) if path == GITLAB else FILES[path]
    assert stands in text
    assert ci_linters.schema(schema, written("file.yml", text.replace(stands, planted)))


@pytest.mark.parametrize(
    ("script", "said"),
    [('cat $name/"x"', "SC2086"), ("echo $JAXX", "SC2154"), ("if true; then", "SC1073")],
)
def test_shellcheck_finds_what_is_planted(script, said):
    assert said in ci_linters.shellcheck(f"read -r name\n{script}\n")
