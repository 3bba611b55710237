"""Every command in a plain install, without any extra and without pytest.

No command needs an extra that it does not use, and one that does names the extra.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from parity_tests.cli import commands

ROOT = Path(__file__).parents[3]
COMMANDS = commands.every_command()
SPEC = "[[corpus]]\nname = 'a'\n"
FILES = {
    "generated.toml": f"{SPEC}generated = 1\n",
    "named.toml": f"{SPEC}targets = ['empty.py']\n",
    "empty.py": "",
    "gitlab/.gitlab-ci.yml": "",
    "gitlab/test_a.py": "",
}
# The last line of each command, and what it exits with.
SIMPLE_USES = {
    "campaign nope.toml": (4, "nope.toml"),
    "campaign generated.toml": (4, "constparity[fuzz]"),
    "campaign named.toml --scheduler tcp://localhost:1": (4, "constparity[cluster]"),
    "environments make 0.10.2": (2, "constparity[environments]"),
    "fuzz": (4, "constparity[fuzz]"),
    "lint empty.py": (4, "constparity[lint]"),
    "init gitlab --ci gitlab --diff --constparity x": (4, "constparity[init]"),
    "run empty.py --report csv:a.csv": (4, "constparity[tables]"),
    "run empty.py --report parquet:a.parquet": (4, "constparity[tables]"),
    "merge nope.db --into all.db": (4, "nope.db"),
    "compare a b": (4, "cannot read the report 'a'"),
    "report nope.json --report md:-": (4, "cannot read the report 'nope.json'"),
    "history --store nope.db": (4, "there is no such file"),
    "reduce nope.py": (4, "names no program"),
    "sweep nope.py": (4, "names no program"),
    "tune nope.py": (4, "names no program"),
    "export inspect nope": (4, "cannot read 'nope'"),
    "schema suite": (0, "}"),
    "-V": (0, "constparity "),
    "-h": (0, "Print the JSON Schema"),
    "export inspect -h": (0, "--debug"),
}
SCRIPT = """
import contextlib, io, json, sys
blocked, uses = json.load(sys.stdin)
for name in blocked:
    sys.modules[name] = None  # as one that is not installed, for imports and for find_spec
from parity_tests.cli import app
ended = {}
for use in uses:
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.redirect_stderr(told):
        code = app.main(use.split())
    ended[use] = code, told.getvalue()
print(json.dumps(ended))
"""


def optional_modules():
    """The modules that a plain install may lack."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    users = extras["optional-dependencies"].keys() - {"dev", "docs"}
    requirements = [each for name in users for each in extras["optional-dependencies"][name]]
    names = [re.match(r"[\w-]+", each)[0] for each in requirements]
    return ["yaml" if name == "pyyaml" else name for name in names] + ["pytest"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What each use exited with, and all that it told."""
    folder = tmp_path_factory.mktemp("plain")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    uses = [*(f"{name} --help" for name in COMMANDS), *SIMPLE_USES]
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        cwd=folder,
        input=json.dumps([optional_modules(), uses]),
        env={**os.environ, "CONSTPARITY_ENVIRONMENTS": str(folder / "environments")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_modules_are_those_of_the_extras():
    assert set(optional_modules()) == {
        "distributed", "equinox", "flax", "hypothesis", "libcst", "numpyro", "optax", "pandas",
        "pyarrow", "pytest", "uv", "yaml"
    }  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_its_help(ended, command):
    code, told = ended[f"{command} --help"]
    assert (code, f"Usage: constparity {command}" in told) == (0, True), told


@pytest.mark.parametrize("use", SIMPLE_USES)
def test_a_simple_use_ends_with_what_it_needs(ended, use):
    code, told = ended[use]
    expected, last = SIMPLE_USES[use]
    assert (code, last in told.splitlines()[-1]) == (expected, True), told
