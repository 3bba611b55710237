"""Processes of sides that are forked from one which has imported all, for importing takes the time.

Those of one environment are alike in what happens before their work: they share the addresses of
their objects. Files of tests of what depends on such things have the mark `fresh_workers`.
"""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys

import fork_server

from parity_tests.processes import early_starts
from parity_tests.processes.side_environment import FOLDER, packages_of

ENTRY = str(FOLDER / "parity_tests" / "worker" / "entry.py")
_fresh = early_starts.spawn
_BEFORE_JAX = "JAX_COMPILATION_CACHE_DIR"  # a process names another folder before it imports JAX
_MOST = 8  # processes that wait to be forked
# How the names of variables begin that are read when something is imported, or before.
_READ_EARLY = ("JAX", "LD_", "MALLOC", "OMP_", "OPENBLAS_", "PYTHON", "TF_", "TMP", "XLA_")


class ForkedProcess:
    """What `subprocess.Popen` is to those that start a process of a side."""

    def __init__(self, connection, stdin):
        self._connection = connection
        self.stdin, self.returncode = stdin, None
        if len(said := connection.recv(4)) < 4:  # a signal to 0 would be one to ourselves
            raise RuntimeError("the process that is forked has ended")
        self.pid = int.from_bytes(said, "little")

    def poll(self):
        """Return the exit status, None before the end."""
        return self._status(timeout=0)

    def wait(self, timeout=None):
        """Wait for the end, and return the exit status."""
        if self._status(timeout) is None:
            raise subprocess.TimeoutExpired(ENTRY, timeout)
        return self.returncode

    def _status(self, timeout):
        if self.returncode is None:
            self._connection.settimeout(timeout)
            with contextlib.suppress(BlockingIOError, TimeoutError):
                said = self._connection.recv(4)
                # Whoever tells may have been killed, too.
                lost = -signal.SIGKILL
                self.returncode = int.from_bytes(said, "little", signed=True) if said else lost
                self._connection.close()
        return self.returncode


class Forks:
    """The processes that are forked, one for each environment, those that were used last."""

    def __init__(self):
        self._servers = {}

    @contextlib.contextmanager
    def in_use(self):
        """Fork the processes that are started within the block."""
        early_starts.spawn = self._spawn
        try:
            yield
        finally:
            early_starts.spawn = _fresh

    def _spawn(self, request, side, log, environment, *, python=None, pass_fds=()):
        """Start a process as `early_starts.spawn` does."""
        early = {name: value for name, value in environment.items() if name.startswith(_READ_EARLY)}
        key = json.dumps([side, early], sort_keys=True)
        if python or pass_fds or _BEFORE_JAX in environment:
            return _fresh(request, side, log, environment, python=python, pass_fds=pass_fds)
        self._servers[key] = self._servers.pop(key, None) or _start(side, environment)
        if len(self._servers) > _MOST:
            _end(*self._servers.pop(next(iter(self._servers))))
        control, _ = self._servers[key]
        said = {
            "request": str(request),
            "folder": os.getcwd(),
            "environment": dict(environment),
            "limits": [resource.getrlimit(each) for each in fork_server.LIMITS],
        }
        text = json.dumps(said).encode()
        reads, writes = os.pipe()
        ours, theirs = socket.socketpair()
        with open(log, "wb") as printed, theirs, open(reads):
            files = [theirs.fileno(), reads, printed.fileno()]
            socket.send_fds(control, [len(text).to_bytes(4, "little")], files)
            control.sendall(text)
        return ForkedProcess(ours, os.fdopen(writes, "wb"))

    def close(self):
        """End the processes that are forked."""
        for each in self._servers.values():
            _end(*each)


def _end(control, server):
    control.close()
    server.wait()


def _start(side, environment):
    ours, theirs = socket.socketpair()
    server = [sys.executable, fork_server.__file__, ENTRY, ",".join(packages_of(side)), side]
    with theirs:
        process = subprocess.Popen(
            [*server, str(theirs.fileno())],
            env=dict(environment),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    return ours, process


@contextlib.contextmanager
def forked_workers():
    """Hold the processes that are forked; they end with the block."""
    forks = Forks()
    try:
        yield forks
    finally:
        forks.close()
