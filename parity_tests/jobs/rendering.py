"""Renders the files of a job from the templates, for one project or for all of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import jinja2

from parity_tests.jobs.facts import Facts
from parity_tests.processes.side_environment import known_range

# The actions of others that the workflows use, each pinned to a commit with its release beside it.
# A tag can be moved to other code, and a commit cannot. The commits were compared with what other
# public repositories pin for the same release.
ACTIONS = {
    "cache": "actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830 # v4.3.0",
    "checkout": "actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0",
    "download_artifact": (
        "actions/download-artifact@634f93cb2916e3fdff6788551b99b062d0335ce0 # v5.0.0"
    ),
    "setup_python": "actions/setup-python@e797f83bcb11b83ae66e0230d6156d7c80228e7c # v6.0.0",
    "upload_artifact": "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2",
    "upload_sarif": (
        "github/codeql-action/upload-sarif@1c5b675653bb5c22dbe9b12b556ec555138e09fd # v4.38.1"
    ),
}
# What the reusable workflow and the action call the arguments of a step, and the project's values.
_VALUES = ("constparity", "installer", "programs", "project", "python", "tests", "with")


def render(template: str, context: Mapping[str, Any]) -> str:
    """Render a template of the folder `templates`; an unknown name in it is an error.

    Braces and percent signs are the CI systems' own, so the templates have square brackets.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("parity_tests.jobs"),
        undefined=jinja2.StrictUndefined,
        variable_start_string="[=",
        variable_end_string="=]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        keep_trailing_newline=False,
        autoescape=False,
    )
    environment.filters["json"] = text
    environment.globals["jax_range"] = known_range()
    return environment.get_template(template).render(context).rstrip("\n") + "\n"


def text(value: str) -> str:
    """Return a value as YAML spells it without doubt: each JSON text is one.

    Example::

        text("0.10") == '"0.10"'
    """
    return json.dumps(value, ensure_ascii=False)


def workflow_of(facts: Facts) -> str:
    """Return the GitHub workflow of a project, which needs no other repository."""
    context = {
        "actions": ACTIONS,
        "branch": text(facts.branch),
        "value": values_of(facts) | _GITHUB_MATRIX | {"runs_on": "ubuntu-latest"},
        "list": _lists_of(facts),
        "test": {
            "run": "matrix.run",
            "comment": "",
            # A private repository may lack code scanning, and the upload would fail.
            "code_scanning": "github.event.repository.private == false",
        },
    }
    return render("github_workflow.yml", context)


def gitlab_jobs_of(facts: Facts, stage: str) -> str:
    """Return the GitLab jobs of a project, for a stage of its pipeline."""
    values = values_of(facts) | {
        "stage": text(stage),
        "image": text(f"python:{facts.versions.python}"),
    }
    return render("gitlab_own.yml", {"value": values, "list": _lists_of(facts)})


def values_of(facts: Facts) -> dict[str, str]:
    """Return the arguments of the steps for a project, each as YAML spells it."""
    return {
        "constparity": text(shlex.join(facts.constparity)),
        "installer": text(facts.installer),
        "programs": text(shlex.join(facts.programs)),
        "project": text(shlex.join(facts.project)),
        "python": text(facts.versions.python),
        "tests": text(shlex.join(facts.tests or ())),
        "with": text(shlex.join(facts.with_)),
    }


def expressions(prefix: str, suffix: str) -> dict[str, str]:
    """Return the arguments of the steps as inputs of a file that others call.

    Example::

        expressions("${{ inputs.", " }}")["python"] == "${{ inputs.python }}"
    """
    return {name: f"{prefix}{name}{suffix}" for name in _VALUES}


_GITHUB_MATRIX = {"jax": "${{ matrix.jax }}", "run": "${{ matrix.run }}"}


def _lists_of(facts: Facts) -> dict[str, str]:
    lists = {"jax": facts.versions.jax, "run": facts.runs}
    return {name: f"[{', '.join(map(text, each))}]" for name, each in lists.items()}
