"""The steps of CI files as data: what a runner would run, with which variables, and when."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

_EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")
_CONDITION = re.compile(r"\$\{\{ (\S+) (==|!=) '(\w+)' \}\}")
# What the runner itself sets, beside what a step declares.
OF_RUNNER = ("HOME", "GITHUB_STEP_SUMMARY")
OF_GITLAB = (
    "HOME", "CI_API_V4_URL", "CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "CI_PIPELINE_ID",
    "CONSTPARITY_TOKEN",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A step of a job; `script` is "" where it uses an action."""

    name: str
    script: str
    uses: str
    env: dict
    condition: str

    def is_due(self, values):
        """Whether its condition holds, which compares one value or asks for no cancellation."""
        if self.condition in ("", "${{ !cancelled() }}"):
            return True
        name, operator, value = _CONDITION.fullmatch(self.condition).groups()
        return (values[name] == value) == (operator == "==")

    def variables(self, values):
        """Its variables, as the runner spells them out; an unknown expression is a KeyError."""
        return {
            name: _EXPRESSION.sub(lambda found: values[found[1]], str(text))
            for name, text in self.env.items()
        }


def steps_of(text):
    """The steps of each job of a workflow, or those of an action under the name "action"."""
    tables = yaml.safe_load(text)
    jobs = tables.get("jobs") or {"action": tables["runs"]}
    return {name: [_step(each) for each in job["steps"]] for name, job in jobs.items()}


def gitlab_jobs(text):
    """The jobs of a GitLab file, and the defaults of its inputs, None where there is none."""
    *head, jobs = yaml.safe_load_all(text)
    inputs = head[0]["spec"]["inputs"] if head else {}
    return jobs, {name: each.get("default") for name, each in inputs.items()}


def run_script(script, folder, variables):
    """Run a script as a runner does, with nothing in its environment but these variables."""
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=Path(folder),
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def _step(table):
    return Step(
        name=table.get("name", ""),
        script=table.get("run", ""),
        uses=table.get("uses", ""),
        env=table.get("env", {}),
        condition=table.get("if", ""),
    )
