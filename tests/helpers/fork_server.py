"""A process of a side that has imported all, and is forked for each request; `forked_workers` asks.

The standard library alone is imported above: our packages are opened as `entry.py` opens them.
"""

import contextlib
import json
import os
import random
import resource
import signal
import socket
import sys
import types
import warnings

LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]


def main(entry, packages, side, control):
    """Import what processes of a side import, and serve until the other end is closed."""
    from runpy import run_path

    sys.argv[:] = [entry, packages]
    run_path(entry, run_name="entry")
    from parity_tests.worker import handling
    from parity_tests.worker.main import main as handle

    handling.prepare("run jobs", side)
    handling.prepare("serve reruns", side)
    from jax.interpreters import mlir

    mlir.make_ir_context()  # which imports what JAX does when it first lowers
    with socket.socket(fileno=int(control)) as requests:
        request = _serve(requests)
    if request is not None:
        _become(entry, packages, **request)
        handle(request["request"])


def _serve(control):
    """Return in each process that was forked with its request, and at the end with none."""
    signal.signal(signal.SIGCHLD, _wait_for_ended)
    while True:
        size, files, _, _ = socket.recv_fds(control, 4, 3)
        if not size:
            return None
        text = control.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
        if not _fork():
            _stand_between(*files)
            return json.loads(text)
        for each in files:
            os.close(each)


def _wait_for_ended(*_):
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _fork():
    with warnings.catch_warnings():
        # By Python 3.12 and by JAX, for threads. There is one of numpy's, which knows of forks.
        warnings.filterwarnings("ignore", r".*\bfork\(\)")
        return os.fork()


def _stand_between(answers, stdin, log):
    """Return in a process that is forked once more, and tell its number and its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if process := _fork():
        with socket.socket(fileno=answers) as connection, contextlib.suppress(BrokenPipeError):
            for each in (stdin, log):
                os.close(each)
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            connection.sendall(status.to_bytes(4, "little", signed=True))
        os._exit(0)
    os.setsid()
    # Told by the process itself: who asks may kill its group at once, and there is none before.
    with socket.socket(fileno=answers) as connection, contextlib.suppress(BrokenPipeError):
        connection.sendall(os.getpid().to_bytes(4, "little"))
    for stream, file in enumerate((stdin, log, log)):
        os.dup2(file, stream)
    for each in (stdin, log):
        os.close(each)


def _become(entry, packages, request, folder, environment, limits):
    """Make this process what one with an interpreter of its own would be."""
    for each, limit in zip(LIMITS, limits, strict=True):
        resource.setrlimit(each, limit)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = [entry, packages, request]
    sys.path[0] = folder
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__file__ = entry
    sys.modules["parity_tests.worker.handling"]._HOME = folder
    random.seed()
    sys.modules["numpy"].random.seed()


if __name__ == "__main__":
    main(*sys.argv[1:])
