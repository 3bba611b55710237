"""Run a file of ours in an interpreter, and take the JSON that it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parity_tests.processes.side_environment import with_our_packages, with_packages

_SECONDS = 120.0


class FileFailedError(RuntimeError):
    """The file printed no JSON; the message is the last line of what it said."""


def run_file(
    file: Path,
    python: Path | None = None,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
    seconds: float = _SECONDS,
) -> Any:
    """Run a file, without its folder on the path, and return what its last line of output says.

    It finds our packages. The interpreter `python`, by default this one, finds nothing else of what
    is installed beside them. `arguments` are the last ones of its `sys.argv`. Raises
    `FileFailedError`.
    """
    # -P: modules that lie beside the file have names that others import, as "arrays" and "names".
    if python is None:
        command = [sys.executable, "-P", str(file)]
        environment = with_our_packages(environment)
    else:
        command = [str(python), "-P", *with_packages(file)]
        environment = {name: text for name, text in environment.items() if name != "PYTHONHOME"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise FileFailedError(f"no end in {seconds:g} seconds") from error
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        said = _last_line_of_error(done.stderr) or f"exit status {done.returncode}"
        raise FileFailedError(said)
    return json.loads(lines[-1])


def _last_line_of_error(said: str) -> str:
    """Return the exception of a traceback; JAX prints a remark after it, below dashes."""
    lines = [line for line in said.split("\n----", 1)[0].splitlines() if line.strip()]
    return lines[-1] if lines else ""
