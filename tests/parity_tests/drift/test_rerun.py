"""Reruns: both sides in processes that wait, with options of XLA and within a time."""

import time

import pytest
from program_files import program_file

from parity_tests.drift import attribution, rerun
from parity_tests.drift.rerun import NotAttributedError, OutOfTimeError, warm_sides
from parity_tests.drift.xla_passes_off import AS_IT_WAS, PASSES_OFF, UNFOLDED, PassesOff
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Job, Rerun
from parity_tests.processes.signs_of_life import staging_seconds
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

SIDES = ("legacy", "jax-simplified")
COUNTED = Job(number=0, name="counted", target=f"{program_file('counts_its_builds')}:counted")


def options(xla):
    return PassesOff("constant folding", "these options", xla)


def test_runs_share_a_process_until_they_start_afresh_or_it_is_lost(tmp_path):
    with warm_sides(tmp_path, Limits(60), 60.0) as warm:

        def counts(runs, xla):
            return [float(side[0].array) for side in runs.outputs(options(xla))]

        first = warm.runs_of(COUNTED, SIDES)
        assert counts(first, {}) == [1.0, 1.0]
        assert counts(first, UNFOLDED) == [2.0, 2.0]
        assert not first.start_afresh()  # no other program was there
        with pytest.raises(NotAttributedError, match=r"legacy did not run with .*'xla_no_such'"):
            counts(first, {"xla_no_such": 1})
        assert counts(first, UNFOLDED) == [1.0, 1.0]  # that run has ended the processes

        second = warm.runs_of(COUNTED, SIDES)
        assert counts(second, {}) == [2.0, 2.0]
        assert second.start_afresh()
        assert counts(second, {}) == [1.0, 1.0]
    assert not list(tmp_path.glob("*/*/outputs.npz"))


def test_what_jax_takes_of_a_run_is_counted(tmp_path):
    begun, heard = time.monotonic(), staging_seconds()
    with warm_sides(tmp_path, Limits(60), 60.0) as warm:
        runs = warm.runs_of(COUNTED, ("jax-legacy", "jax-simplified"))
        runs.outputs(AS_IT_WAS)
        assert staging_seconds() == heard  # JAX does it within a call there
        runs.outputs(options(UNFOLDED))
        with_options = staging_seconds() - heard
        runs.first_with_constant()
        with_equations = staging_seconds() - heard
    assert 0.0 < with_options < with_equations < time.monotonic() - begun


@pytest.mark.parametrize(("shared", "tries"), [(True, 2), (False, 1)])
def test_other_bits_beside_other_programs_are_tried_again_alone(shared, tries):
    tried = []

    class Alone:
        def outputs(self, off):
            tried.append(off)
            raise NotAttributedError("other types")

        def start_afresh(self):
            return shared and len(tried) == 1

    with pytest.raises(NotAttributedError):
        attribution._Attribution(None, Alone())._repeat()
    assert len(tried) == tries


def test_a_program_whose_time_is_over_is_not_attributed_and_looked_at_again_later(tmp_path):
    def drift(seconds):
        options = CampaignOptions(
            sides=("jax-legacy", "jax-simplified"),
            steady_calls=0,
            resume=tmp_path / "kept",
            attribute=True,
            attribution_timeout=seconds,
        )
        [row] = run.run([f"{program_file('planted_drift')}:folded"], options).programs
        return row.drift[0]

    short = drift(0.1)
    assert short.cause == "not attributed"
    assert short.evidence == "attribution took longer than 0.1 seconds (--attribution-timeout)"
    assert short.out_of_time
    assert drift(60.0).cause == "constant folding"


def test_a_run_that_compiles_as_before_is_not_begun_where_its_time_would_be_over(tmp_path):
    with warm_sides(tmp_path, Limits(60), 60.0) as warm:
        runs = warm.runs_of(COUNTED, SIDES, staging=61.0)
        with pytest.raises(OutOfTimeError, match="for to compile as before takes 61 of them"):
            runs.outputs(AS_IT_WAS)
        assert runs.first_with_constant().said.startswith("no equation is named: attribution would")
    assert list(tmp_path.iterdir()) == []  # no process was started


def test_options_of_xla_reach_the_process_with_their_types_and_are_told_as_flags():
    off = PASSES_OFF[2]
    order = Rerun(number=0, target="a:f", xla=off.xla)
    back = Rerun.model_validate_json(order.model_dump_json()).xla
    assert back == off.xla
    assert [type(each) for each in back.values()] == [int, bool, str]
    assert (
        "(XLA_FLAGS=--xla_backend_optimization_level=0 --xla_allow_excess_precision=false "
        "--xla_disable_hlo_passes=constant_folding,"
    ) in off.said


def test_the_last_words_of_xla_are_the_reason():
    log = "W0 something\nF1121 09:39 flags.cc:234] Unknown flag in XLA_FLAGS: --xla_no=1\nend\n"
    assert rerun._last_line(log).endswith("Unknown flag in XLA_FLAGS: --xla_no=1")
