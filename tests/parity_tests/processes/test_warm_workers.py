"""The arbiter of a campaign: one process for many programs, and another where it is lost."""

import pytest
from program_files import program_file

from parity_tests.evidence.records import truth_of
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, ServeTruth
from parity_tests.processes.warm_workers import WarmWorker, warm_arbiter

pytestmark = pytest.mark.fresh_workers


@pytest.mark.deep
def test_programs_do_what_they_want_to_the_arbiter(tmp_path, monkeypatch):
    monkeypatch.setattr("parity_tests.processes.worker_process.START_SECONDS", 15.0)
    file = program_file("hostile_to_the_arbiter")
    names = (
        "process", "ends_the_process", "third", "hangs", "reads_bits", "returns_nothing", "process",
    )  # fmt: skip
    jobs = [
        Job(number=number, name=name, target=f"{file}:{name}") for number, name in enumerate(names)
    ]
    with warm_arbiter(tmp_path, Limits(2.0)) as arbitrate:
        first, ended, third, hung, bits, nothing, last = map(arbitrate, jobs)
    assert third.outputs[0].array == 1.0 / 3.0  # in double precision
    assert ended.missing == "exit status 3"
    assert hung.missing == "no result in 2 seconds"
    assert bits.missing == "NoArbiterError: the program reads the bits of a floating-point value"
    assert (nothing.outputs, nothing.missing) == ((), "")
    assert first.outputs[0].array != last.outputs[0].array  # of processes lost in between
    assert truth_of(tmp_path, 2)[0].array == third.outputs[0].array

    with warm_arbiter(tmp_path, Limits(2.0)) as again:
        assert again(jobs[0]).outputs[0].array == first.outputs[0].array  # kept
        assert again(jobs[4]) == bits  # asked once more, over what was kept
    with warm_arbiter(tmp_path / "fresh", Limits(2.0), fresh=True) as fresh:
        numbers = [jobs[0], jobs[0].model_copy(update={"number": 9})]
        one, other = (fresh(job).outputs[0].array for job in numbers)
    assert one != other


class FakeProcess:
    def __init__(self):
        self.is_spent, self.is_changed = False, False

    def has_ended(self):
        return False

    def give(self, line):
        pass

    def kill(self):
        pass


def test_a_process_that_a_module_changed_is_for_its_programs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(WarmWorker, "_start", lambda self: FakeProcess())
    worker = WarmWorker("jax-legacy", tmp_path, Limits(1.0), ServeTruth())

    def given(target):
        return worker.give(Job(number=0, name="", target=target))

    first = given("a.py:one")
    assert given("b.py:one") is first
    first.is_changed = True  # by b.py
    assert given("b.py:other") is first
    second = given("a.py:one")
    assert second is not first
    second.is_spent = True
    assert given("a.py:one") is not second
