"""Pytest in processes forked from one which has imported JAX and others, for that takes the time.

Nothing of this project is imported before the fork, and no device is asked for.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

SERVER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import importlib
import jax.interpreters.mlir, jax.numpy, jinja2, psutil, pydantic.json_schema, forked_pytest
from _pytest.config import default_plugins
for each in default_plugins:
    importlib.import_module("_pytest." + each)
pydantic.create_model("Any")  # which imports what pydantic does for its first model
jax.interpreters.mlir.make_ir_context()  # which imports what JAX does when it first lowers
forked_pytest.serve()
"""


def serve():
    """Run what each line of the standard input says; answer with its process, then its status."""
    gc.freeze()
    for line in sys.stdin:
        run = json.loads(line)
        process = os.fork()
        if not process:
            _become(**run)
            sys.exit(pytest.console_main())
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


def _become(options, folder, environment, output):
    """Make this process what `python -m pytest` would be."""
    files = ((os.devnull, os.O_RDONLY), *((file, os.O_WRONLY) for file in output))
    for stream, (file, mode) in enumerate(files):
        opened = os.open(file, mode)
        os.dup2(opened, stream)
        os.close(opened)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:2] = [folder]  # for the folder of this file, and the one that the server runs in
    sys.argv[:] = ["pytest", *options]


class PytestServer:
    """The process that is forked. Runs are like it in the variables that JAX reads on import."""

    def __enter__(self):
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_):
        self._server.communicate()

    def run(self, options, folder, environment, timeout):
        """Run pytest in a folder as `subprocess.run` would."""
        with tempfile.TemporaryDirectory() as files:
            output = [Path(files) / "stdout", Path(files) / "stderr"]
            for file in output:
                os.mkfifo(file)
            said = {
                "options": options, "folder": folder, "environment": environment, "output": output,
            }  # fmt: skip
            print(json.dumps(said, default=str), file=self._server.stdin, flush=True)
            process = int(self._server.stdout.readline())
            killing = threading.Timer(timeout, os.kill, (process, signal.SIGKILL))
            killing.start()
            with ThreadPoolExecutor() as threads:  # until the last process has closed them
                texts = [threads.submit(file.read_text) for file in output]
            status = int(self._server.stdout.readline())
            killing.cancel()
            stdout, stderr = (each.result() for each in texts)
            return subprocess.CompletedProcess(options, status, stdout, stderr)
