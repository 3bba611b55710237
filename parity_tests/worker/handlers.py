"""The table of handlers: what a child process does with each kind of request.

A handler imports what it needs when it runs. So a process of stock JAX never imports the engine,
and one that lists programs imports nothing of the experiments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from parity_tests.processes import protocol
from parity_tests.worker import answers, jobs
from parity_tests.worker.handling import Desk

if TYPE_CHECKING:
    from pydantic import BaseModel

HANDLERS: Mapping[type[protocol.Record], Callable[[Any, Desk], BaseModel | None]] = {
    protocol.ListPrograms: answers.list_programs,
    protocol.DetectHazards: answers.detect_hazards,
    protocol.ReadsInCalls: answers.reads_in_calls,
    protocol.SettingsAtImport: answers.settings_at_import,
    protocol.FindCulprit: answers.find_culprit,
    protocol.SweepThreshold: answers.sweep_threshold,
    protocol.TunePolicy: answers.tune_policy,
    protocol.ReadDraft: answers.read_draft,
    protocol.PrintJaxpr: answers.print_jaxpr,
    protocol.TakeBenchTurn: answers.take_bench_turn,
    protocol.RunJobs: jobs.run_jobs,
    protocol.ServeJobs: jobs.serve_jobs,
    protocol.ServeReruns: jobs.serve_reruns,
    protocol.ServeTruth: jobs.serve_truth,
}
