"""A program whose forms part is evaluated in processes that may die: what is left is told."""

import numpy as np
import pytest

from parity_tests.evidence import values
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.found import ModuleEvaluated, NumberedForms, NumberedSteps
from parity_tests.evidence.values import Value
from parity_tests.processes.protocol import Job, write
from parity_tests.processes.worker_process import Lost
from parity_tests.run import proving
from parity_tests.run.options import CampaignOptions
from parity_tests.run.proving import Apart
from reports.rows.claims import Claim, Evaluated
from reports.rows.proofs import ProvedProgram

SIDES = ("jax-legacy", "jax-simplified")
PARTED = Claim(of="module", answer="parted", reason="the numbers differ", before="a", after="b")
JAXPR = Claim(of="jaxpr", answer="parted", reason="the numbers differ")
ABORTED = Lost("crash", "signal SIGABRT", "import", "x\nLLVM ERROR: Unsupported op: %0\n\nFatal\n")
KILLED = Lost("crash", "signal SIGKILL", "import", "")
LATE = Lost("timeout", "no result in 10 seconds", "import", "", 10.0)


@pytest.fixture
def looked_into(monkeypatch, tmp_path):
    """Look into a program whose processes answer so: before the flip, and after it."""

    def look(*answers, reservations=()):
        asked = []

        def ask_all(asking):
            if len(asking) == 2:
                return [NumberedForms(forms=(NumberedSteps(),) * 2)] * 2
            [one] = asking
            answer = answers[len(asked)]
            asked.append((one.question.side, one.limits.timeout))
            found, inputs = ProcessFiles(one.folder), ("its own arguments",)
            if isinstance(answer, Lost) and answer is not LATE:
                return [answer]
            values.save(found.results(0), [Value("", np.float32(1))])
            evaluated = ModuleEvaluated(digest="ab"[len(asked) - 1], inputs=inputs)
            write(found.evaluated, evaluated.model_dump_json())
            return [answer or evaluated]

        monkeypatch.setattr(proving, "ask_all", ask_all)
        row = ProvedProgram(
            name="p", target="p.py:p", source="p.py:1", answer="parted", claims=(JAXPR, PARTED),
            reservations=reservations,
        )  # fmt: skip
        job = Job(number=0, name="p", target="p.py:p")
        found = Apart(job, SIDES, tmp_path, CampaignOptions(sides=SIDES)).looked_into(row)
        assert (found.answer, found.claims[0].evaluated) == ("parted", None)
        return asked, found.claims[1].evaluated

    return look


def test_each_form_is_evaluated_in_a_process_with_a_time_limit(looked_into):
    asked, found = looked_into(None, None)
    assert asked == [("jax-legacy", 10.0), ("jax-simplified", 10.0)]
    assert found == Evaluated(equal_on=("its own arguments",))


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        (ABORTED, "the reference interpreter ended with LLVM ERROR: Unsupported op: %0"),
        (KILLED, "the reference interpreter ended with signal SIGKILL"),
    ],
)
def test_an_operation_that_the_interpreter_has_not_ends_its_process(looked_into, lost, why):
    asked, found = looked_into(lost)
    assert (len(asked), found) == (1, Evaluated(why_not=why))


def test_the_other_form_alone_ends_its_process(looked_into):
    _, found = looked_into(None, KILLED)
    assert found == Evaluated(why_not="the reference interpreter ended with signal SIGKILL")


def test_inputs_that_were_evaluated_count_where_the_next_takes_too_long(looked_into):
    _, found = looked_into(LATE, None)
    assert found == Evaluated(
        equal_on=("its own arguments",),
        why_not="the reference interpreter: no result in 10 seconds",
    )


def test_a_program_of_several_jitted_functions_is_not_evaluated(looked_into):
    why = (
        "it is no jitted function itself: what its Python does around those that it calls is not "
        "proved; jit all of it, or make each of those a program"
    )
    assert looked_into(reservations=(why,)) == ([], Evaluated(why_not=why))


# JAX traces a program once more on one side, once a program has read jaxprs.
COUNTED = """
import functools, itertools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from parity_tests import program

numbers = itertools.count()
table = jnp.arange(16.0)
given = (jnp.ones(16),)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["a"], meta_fields=["number"])
@dataclass
class State:
    a: object
    number: int


@program(args=given)
def reads(x):
    return State(x, len(jax.make_jaxpr(lambda y: y * table)(x).consts))


@program(args=given)
def first(x):
    return State(x * table, next(numbers))


@program(args=given)
def second(x):
    return State(x * table, next(numbers))
"""


def test_a_tree_that_counts_what_ran_before_it_is_not_refuted(tmp_path):
    (tmp_path / "counted.py").write_text(COUNTED)
    found = proving.prove([str(tmp_path / "counted.py")], CampaignOptions(sides=SIDES))
    reads, _, second = found.programs
    assert (reads.answer, second.answer) == ("refuted", "undecided")
    [reason] = {each.reason for each in second.claims}
    assert reason.startswith("it is another program each time that it is built")
