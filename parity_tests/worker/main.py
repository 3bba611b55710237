"""The main function of a child process, which handles one request; `entry.py` calls it.

The request says what to do and in which folder. An answer is left there in a file, written whole or
not at all. Nothing goes through stdout or stderr, which belong to the programs.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.processes import protocol
from parity_tests.processes.protocol import Order, Wait, to_json, write
from parity_tests.worker import answers, jobs
from parity_tests.worker.handling import Desk, prepare
from reports.rows import Row

_CACHE_FOLDER = "JAX_COMPILATION_CACHE_DIR"

# What a process does with each kind of request. A handler imports what it needs when it runs. So a
# process of stock JAX never imports the engine, and one that lists programs nothing of experiments.
HANDLERS: Mapping[type[Row], Callable[[Any, Desk], Row | None]] = {
    protocol.ListPrograms: answers.list_programs,
    protocol.DetectHazards: answers.detect_hazards,
    protocol.ReadsInCalls: answers.reads_in_calls,
    protocol.SettingsAtImport: answers.settings_at_import,
    protocol.FindCulprit: answers.find_culprit,
    protocol.SweepThreshold: answers.sweep_threshold,
    protocol.TunePolicy: answers.tune_policy,
    protocol.ReadDraft: answers.read_draft,
    protocol.PrintJaxpr: answers.print_jaxpr,
    protocol.NumberSteps: answers.number_steps,
    protocol.EvaluateModule: answers.evaluate_module,
    protocol.TakeBenchTurn: answers.take_bench_turn,
    protocol.RunJobs: jobs.run_jobs,
    protocol.ServeJobs: jobs.serve_jobs,
    protocol.ServeReruns: jobs.serve_reruns,
    protocol.ServeTruth: jobs.serve_truth,
}


def main(request: str) -> None:
    """Handle the request in a file, or wait for one there, and for the next."""
    with _cache_of_its_own():
        _handle(request)


def _handle(request: str) -> None:
    faulthandler.enable()  # so that the record of a crash has its Python frames
    lines: SimpleQueue[str] = SimpleQueue()
    _die_with_parent(lines)
    order = _read(request)
    if isinstance(order.request, Wait):
        prepare(order.request.work, order.request.side)
        order.request.ready.touch()
        order = _read(lines.get().strip())
        _print_to(ProcessFiles(order.folder).log)
    files = ProcessFiles(order.folder)
    # Nothing is caught here: the parent says how the process ended, and has its traceback.
    answer = HANDLERS[type(order.request)](order.request, Desk(files, lines))
    if answer is not None:
        write(files.answer, to_json(answer))


@contextmanager
def _cache_of_its_own() -> Iterator[None]:
    """Name a folder of this process where the user's variable names one for JAX's persistent cache.

    Earlier processes have filled the user's folder, and others fill it now.
    """
    if _CACHE_FOLDER not in os.environ:
        yield
        return
    with temporary_folder("cache-") as folder:
        os.environ[_CACHE_FOLDER] = str(folder / "jax")
        yield


def _read(request: str) -> Order:
    order = Order.model_validate_json(Path(request).read_text())
    sys.path.extend(entry for entry in order.sys_path if entry not in sys.path)
    return order


def _print_to(log: Path) -> None:
    """Have this process print to another file, as if it had been started so."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with open(log, "ab") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)


def _die_with_parent(lines: SimpleQueue[str]) -> None:
    """End this process when the parent's end of stdin closes, however the parent ended.

    What the parent writes before that is put into `lines`.
    """
    pipe = os.dup(0)
    os.set_inheritable(pipe, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a program that reads stdin gets an end of file, not our pipe
    os.close(nothing)

    def read() -> None:
        with open(pipe) as parent:
            for line in parent:
                lines.put(line)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
