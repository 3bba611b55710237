"""The table of handlers: what a child process does with each kind of request.

A handler imports what it needs when it runs. So a process of stock JAX never imports the engine,
and one that lists programs imports nothing of the experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parity_tests.processes import protocol
from parity_tests.worker import jobs, questions
from parity_tests.worker.desk import Desk

if TYPE_CHECKING:
    from pydantic import BaseModel

HANDLERS: Mapping[type[protocol.Record], Callable[[Any, Desk], BaseModel | None]] = {
    protocol.ListPrograms: questions.list_programs,
    protocol.DetectHazards: questions.detect_hazards,
    protocol.RunOutputs: questions.run_outputs,
    protocol.RunEquations: questions.run_equations,
    protocol.FindCulprit: questions.find_culprit,
    protocol.SweepThreshold: questions.sweep_threshold,
    protocol.TunePolicy: questions.tune_policy,
    protocol.ReadDraft: questions.read_draft,
    protocol.TakeBenchTurn: questions.take_bench_turn,
    protocol.RunJobs: jobs.run_jobs,
    protocol.ServeJobs: jobs.serve_jobs,
    protocol.ServeTruth: jobs.serve_truth,
}
