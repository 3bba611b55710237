"""The table of handlers: every kind of request has one, and it imports no more than it needs."""

import math
import typing
from queue import SimpleQueue

import pytest
from program_files import program_file

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.observe.environment import describe
from parity_tests.processes import protocol
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job, Order, Wait
from parity_tests.processes.side_runs import run_sides
from parity_tests.worker.answers import sweep_threshold
from parity_tests.worker.handling import Desk
from parity_tests.worker.main import HANDLERS
from reports.rows.experiments import CulpritQuestion, Sweep, SweepQuestion

UNION, _ = typing.get_args(protocol.Request)


def test_every_kind_of_request_has_its_handler():
    assert {*HANDLERS, Wait} == set(typing.get_args(UNION))  # that has no handler of its own


@pytest.mark.parametrize(
    "request_",
    [
        protocol.ListPrograms(targets=("a.py",)),
        protocol.FindCulprit(target="a:f", question=CulpritQuestion(metric="outputs")),
        protocol.RunJobs(side="legacy", jobs=(Job(number=3, name="f", target="a:f"),)),
        protocol.ServeTruth(),
    ],
)
def test_a_request_goes_to_the_process_and_is_still_of_its_kind(request_, tmp_path):
    order = Order(folder=tmp_path, sys_path=("a",), request=request_)
    assert Order.model_validate_json(order.model_dump_json()).request == request_


def test_a_request_has_the_fields_of_its_kind_alone():
    with pytest.raises(ValueError, match="question"):
        protocol.DetectHazards(target="a:f", question=SweepQuestion(thresholds=(0,)))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (protocol.ListPrograms, protocol.Listing(error="no module 'a'")),
        (protocol.SweepThreshold, protocol.UnknownTarget(unknown_target="no module 'a'")),
        (
            protocol.SweepThreshold,
            Sweep(
                created="now",
                environment=describe(),
                program="f",
                source="a.py:1",
                points=(),
                call_noise=math.inf,
                compile_noise=0.0,
                recommended=None,
                reason="",
            ),
        ),
        (protocol.ReadDraft, protocol.Unreadable(unreadable="effects")),
    ],
)
def test_an_answer_reads_back_as_the_type_that_its_question_promises(question, answer):
    assert question.read(protocol.to_json(answer)) == answer


def test_a_process_of_stock_jax_imports_no_engine_experiment_or_jinja2(tmp_path):
    file = program_file("looks_at_the_imports")
    jobs = [Job(number=n, name="looks", target=f"{file}:looks") for n in range(2)]
    options = RunOptions(steady_calls=0, hazards_on="jax-legacy")
    recorded = run_sides(jobs, ["jax-legacy", "legacy"], tmp_path, options)
    stock = [recorded[job.number, "jax-legacy"].observation.failure for job in jobs]
    ours = [recorded[job.number, "legacy"].observation.failure for job in jobs]
    assert stock == [None, None]
    assert [each.message for each in ours] == ["['engine']"] * 2  # it can fail


def test_a_factory_that_returns_no_program_is_answered_in_a_sentence(tmp_path):
    file = tmp_path / "made_wrong.py"
    file.write_text("from parity_tests import program\n\n\n@program\ndef made():\n    return 1\n")
    question = SweepQuestion(thresholds=(0,))
    request = protocol.SweepThreshold(target=f"{file}:made", question=question)
    answer = sweep_threshold(request, Desk(ProcessFiles(tmp_path), SimpleQueue()))
    assert answer.raised.startswith("the factory made (")
    assert answer.raised.endswith("with a callable first; it returned int: 1")
