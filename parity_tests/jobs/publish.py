"""The files that other repositories call: a workflow and an action for GitHub, jobs for GitLab.

`python -m parity_tests.jobs.publish` writes them in a checkout, from the templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity_tests.environments.find_python import KNOWN
from parity_tests.jobs.rendering import ACTIONS, expressions, render, text
from parity_tests.processes.side_environment import refusal_of
from reports import write_atomically

WORKFLOW = Path(".github/workflows/constparity.yml")
ACTION = Path(".github/actions/constparity/action.yml")
GITLAB = Path("docs/ci/constparity.gitlab-ci.yml")


@dataclass(frozen=True)
class Input:
    """An input of a published file; `default` is spelled as YAML, and None where it is required."""

    name: str
    text: str
    type: str = "string"
    default: str | None = '""'


_STEPS = (
    Input("python", "The Python that the job runs in.", default=text("3.13")),
    Input(
        "constparity",
        "What installs constparity, as arguments of pip: git+https://...@COMMIT, or a folder.",
        default=None,
    ),
    Input("installer", "What installs packages: pip or uv.", default=text("pip")),
    Input(
        "project",
        "What installs the project and what its tests need, as arguments of pip.",
        default=text("-e . pytest"),
    ),
    Input(
        "with",
        "The same as packages of --with, for the environments of `programs` and `jax-both`.",
        default=text(". pytest"),
    ),
    Input("programs", "Targets and options of `constparity run`.", default=text(".")),
    Input("tests", "Arguments of pytest."),
)
_JAX = "a release of JAX, or `installed` for the one that the project's dependencies give"
_RUN = (
    "`programs`, or what --constparity of pytest takes: `jax-both`, `both`, `legacy`, `simplified`"
)
_RELEASES = tuple(release for release in KNOWN if refusal_of(release) is None)


def published() -> dict[Path, str]:
    """Return the text of each published file, by its path in the repository."""
    return {WORKFLOW: _workflow(), ACTION: _action(), GITLAB: _gitlab()}


def _workflow() -> str:
    inputs = (
        Input("jax", f"A JSON list, each {_JAX}.", default=_json_list(_RELEASES)),
        Input("run", f"A JSON list, each {_RUN}.", default=_json_list(("jax-both", "both"))),
        *_STEPS,
        Input("runs-on", "The runner that compares.", default=text("ubuntu-latest")),
        Input("comment", "Comment on pull requests.", "boolean", "true"),
        Input("code-scanning", "Upload findings to code scanning.", "boolean", "true"),
    )
    matrix = {"jax": "${{ matrix.jax }}", "run": "${{ matrix.run }}"}
    runner = {"runs_on": "${{ inputs.runs-on }}"}
    context = {
        "actions": ACTIONS,
        "inputs": inputs,
        "value": expressions("${{ inputs.", " }}") | matrix | runner,
        "list": {name: f"${{{{ fromJSON(inputs.{name}) }}}}" for name in ("jax", "run")},
        "test": {
            "run": "matrix.run",
            "comment": "inputs.comment && ",
            "code_scanning": "inputs.code-scanning",
        },
    }
    return render("github_reusable.yml", context)


def _action() -> str:
    inputs = (
        Input("jax", _capital(_JAX), default=text("installed")),
        Input("run", _capital(_RUN), default=text("jax-both")),
        *_STEPS,
    )
    value = expressions("${{ inputs.", " }}")
    value |= {"jax": "${{ inputs.jax }}", "run": "${{ inputs.run }}"}
    context = {"actions": ACTIONS, "inputs": inputs, "value": value, "test": {"run": "inputs.run"}}
    return render("github_action.yml", context)


def _gitlab() -> str:
    releases = f"[{', '.join(map(text, _RELEASES))}]"
    inputs = (
        Input("jax", f"Each {_JAX}.", "array", releases),
        Input("run", f"Each {_RUN}.", "array", '["jax-both", "both"]'),
        *_STEPS,
        Input("stage", "The stage of the pipeline that compares.", default=text("test")),
    )
    # A value that begins with a bracket is a list to YAML, unless it is quoted.
    value = expressions('"$[[ inputs.', ' ]]"')
    value |= {"stage": '"$[[ inputs.stage ]]"', "image": '"python:$[[ inputs.python ]]"'}
    lists = {name: f"$[[ inputs.{name} ]]" for name in ("jax", "run")}
    return render("gitlab_template.yml", {"inputs": inputs, "value": value, "list": lists})


def _json_list(values: tuple[str, ...]) -> str:
    inside = ", ".join(f'"{value}"' for value in values)
    return f"'[{inside}]'"


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] + "."


def write(root: Path) -> None:
    """Write the published files below the top folder of a checkout."""
    for path, content in published().items():
        write_atomically(root / path, content)


if __name__ == "__main__":
    write(Path(__file__).parents[2])
