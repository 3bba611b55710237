"""Run programs on one side, each in a process of its own; this is run as a file.

The process imports JAX once and forks for each program, before JAX has a device. A side of ours has
the engine's functions in the place of JAX's by then. What a program prints, and the exception that
ends it, are told as JSON.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import runpy
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence

_SECONDS = 60.0
_TELL_PLATFORM = "import jax\nprint(jax.devices()[0].platform)\n"
_POLL_SECONDS = 0.01


def told(side: str, programs: Sequence[str]) -> Mapping[str, object]:
    """Return the versions of this process, and what each program printed and ended with."""
    if not side.startswith("jax-"):
        from parity_tests import in_place_of_jax

        in_place_of_jax.install(
            lambda: in_place_of_jax.functions_of_engine(side), and_then=lambda: None
        )
    import jax
    import jax.numpy  # what programs import anyway

    return {
        "jax": jax.__version__,
        "jaxlib": importlib.metadata.version("jaxlib"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "platform": _platform(),
        "seen": [_seen(each) for each in programs],
    }


def _platform() -> str:
    """Return the platform of the first device; a fork asks, for this process has to have none."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(_TELL_PLATFORM)
        file.flush()
        return _seen(file.name)["printed"]


def _seen(program: str) -> Mapping[str, str]:
    """Run a program in a fork, and return what it printed and how it ended."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as raised:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer releases of Python and JAX advise against forks
            child = os.fork()
        if child == 0:
            _run(program, printed.fileno(), raised.fileno())
        ended = _waited(child)
        printed.seek(0)
        raised.seek(0)
        return {"printed": printed.read().strip(), "error": raised.read().strip() or ended}


def _run(program: str, printed: int, raised: int) -> None:
    """Be the process of one program: never returns."""
    status = 1
    os.setsid()
    os.dup2(printed, 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # XLA's log; an exception is told apart
    try:
        os.chdir(os.path.dirname(program))  # exceptions that have the file have its name alone
        sys.argv = [os.path.basename(program)]
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except BaseException as error:  # noqa: BLE001 - whatever ends a program is what its user sees
        if isinstance(error, SystemExit) and not error.code:
            status = 0
        else:
            text = "".join(traceback.format_exception_only(error)).strip()
            os.write(raised, text.encode())
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(status)


def _waited(child: int) -> str:
    """Wait for a process; return how it was lost, or "" where it has ended by itself."""
    end = time.monotonic() + _SECONDS
    try:
        while time.monotonic() < end:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                if code < 0:
                    return f"died of {signal.Signals(-code).name}"
                return f"exit status {code}" if code else ""
            time.sleep(_POLL_SECONDS)
        return f"no end in {_SECONDS:g} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that it has started, too


if __name__ == "__main__":
    named_side, *files = sys.argv[sys.argv.index("--") + 1 :]
    print(json.dumps(told(named_side, files)))
