"""Two runs of a store: outcomes of programs, and what other machines leave open."""

import dataclasses

import built_grids as built
import pytest

from parity_tests.run.compare_runs import ReadRun, compare_runs
from reports.rows import TimeSamples
from reports.rows.history import CHANGE_OUTCOMES, StoredProgram, StoredRun, StoredSide

SIDES = ("jax-legacy", "jax-simplified")
MIB = 2**20


def side(**figures):
    values = {name.replace("_", " "): value for name, value in figures.items()}
    return StoredSide(outputs="bits", output_types="types", figures=values)


OF_SIDES = dict.fromkeys(SIDES, side())


def program(name="step", flip="safe", *reasons, **changes):
    fields = {
        "name": name,
        "source": "model.py:1",
        "digest": "ab",
        "verdict": "difference" if flip == "different" else "parity",
        "flip": flip,
        "reason": reasons[0] if reasons else "",
        "reasons": tuple((flip, each) for each in reasons),
        "sides": OF_SIDES,
    }
    return StoredProgram(**{**fields, **changes})


def run(number, *programs, environment=None, **changes):
    fields = {
        "id": number,
        "started": "2026-11-01",
        "finished": "2026-11-01",
        "schema_version": 4,
        "environment": built.ENVIRONMENT.model_copy(update=environment or {}),
        "sides": SIDES,
        "machine": "a machine",
        "commit": None,
        "settings": {},
        "programs": len(programs),
        "planned": len(programs),
    }
    return ReadRun(StoredRun(**{**fields, **changes}), programs)


def change(before, now, **changes):
    [found] = compare_runs(run(1, before), run(2, now, **changes)).programs
    return found


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        (program(), program(), "within noise"),
        (program(), program("step", "different", "outputs"), "newly different"),
        (program("step", "different", "outputs"), program(), "newly fixed"),
        (program("step", "could not compare"), program("step", "different"), "newly different"),
        (program(), program("step", "could not compare"), "not comparable"),
        (program("step", "not repeatable"), program(), "not comparable"),
        (program("step", "different"), program("step", "not repeatable"), "not comparable"),
        (program(), program("step", "safe but slower or larger", "time call"), "worse"),
        (program("step", "safe but slower or larger", "time call"), program(), "better"),
        (program(), program("step", "numerics drift, explained", "outputs"), "worse"),
        (
            program("step", "different", "outputs"),
            program("step", "different", "outputs", "failure"),
            "worse",
        ),
        (
            program("step", "different", "outputs"),
            program("step", "different", "outputs"),
            "within noise",
        ),
        (program(), program(verdict="difference"), "newly different"),
        (program(flip=None), program(flip=None, verdict="could not compare"), "not comparable"),
        (program(), program(verdict="could not compare"), "not comparable"),
    ],
)
def test_the_outcome_of_a_program(before, now, outcome):
    assert change(before, now).outcome == outcome


OURS = ("difference", "legacy and jax-legacy: outputs")
OTHERS = ("difference", "simplified and jax-simplified: outputs")
FLIPPED = ("different", "outputs")


@pytest.mark.parametrize(
    ("before", "now", "outcome", "told"),
    [
        # What the flip no longer breaks, our own pipeline does now.
        (("different", FLIPPED), ("safe", OURS), "worse", "our pipelines: difference: legacy and"),
        (("safe", OURS), ("safe", OURS, OTHERS), "worse", "our pipelines: difference: simplified"),
        (("safe", OURS, OTHERS), ("safe", OURS), "better", "our pipelines, no longer: difference"),
        (("different", FLIPPED, OURS), ("safe", OURS), "better", "the flip, no longer: different"),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"machine": "another"}])
def test_another_pair_that_is_apart_is_no_noise(before, now, outcome, told, changes):
    left, right = (program(flip=flip, verdict="difference", reasons=tuple(reasons))
                   for flip, *reasons in (before, now))  # fmt: skip
    found = change(left, right, **changes)
    assert found.outcome == outcome
    assert found.reasons[0].startswith(told)


def test_a_safe_flip_beside_sides_that_could_not_be_compared_is_told():
    found = change(program(), program(verdict="could not compare"))
    assert found.reasons == ("safe before, safe, and over all sides could not compare now",)


def test_programs_of_one_run_alone_are_gone_or_new():
    found = compare_runs(run(1, program("old")), run(2, program("young")))
    assert [(each.name, each.outcome) for each in found.programs] == [
        ("old", "gone"), ("young", "new"),
    ]  # fmt: skip
    assert found.counts() == {"gone": 1, "new": 1}
    assert list(found.counts()) == [each for each in CHANGE_OUTCOMES if each in ("gone", "new")]


@pytest.mark.parametrize(
    ("young", "outcome", "reasons"),
    [
        (program("young", "different", "outputs"), "newly different", 1),
        (program("young", "could not compare"), "not comparable", 0),
    ],
)
def test_a_new_program_is_judged_by_its_own_run(young, outcome, reasons):
    found = compare_runs(run(1, program()), run(2, program(), young)).programs[-1]
    assert (found.name, found.outcome, len(found.reasons)) == ("young", outcome, reasons)


@pytest.mark.parametrize("changes", [{"finished": "", "planned": 9}, {"planned": 9}])
def test_a_program_that_a_run_did_not_come_to_is_not_gone(changes):
    for left, right in (({}, changes), (changes, {})):
        both = run(1, program("old"), **left), run(2, program("young"), **right)
        found = {each.name: each for each in compare_runs(*both).programs}
        name = "old" if right else "young"
        assert found[name].outcome == "not comparable"
        assert found[name].reasons[0].endswith("ran 1 of 9 programs")


def with_memory(count):
    return program(sides={"jax-simplified": side(device_memory_of_constants=count)})


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [
        (10 * MIB, 12 * MIB, "worse"),
        (12 * MIB, 10 * MIB, "better"),
        (100 * MIB, 105 * MIB, "within noise"),  # 5 % more
        (1000, 5000, "within noise"),  # less than a mebibyte
    ],
)
def test_sizes_are_judged_by_the_limits_of_the_flip(before, now, outcome):
    assert change(with_memory(before), with_memory(now)).outcome == outcome


def with_calls(seconds):
    spread = tuple(seconds * (1 + number / 1000) for number in range(10))
    samples = (TimeSamples(side="jax-simplified", metric="call", seconds=spread),)
    return program(samples=samples)


@pytest.mark.parametrize(
    ("before", "now", "outcome"),
    [(1.0, 2.0, "worse"), (2.0, 1.0, "better"), (1.0, 1.01, "within noise")],
)
def test_times_are_judged_by_the_samples_of_rounds(before, now, outcome):
    found = change(with_calls(before), with_calls(now))
    assert found.outcome == outcome
    assert all("call of jax-simplified takes" in each for each in found.reasons)


def test_times_without_rounds_are_not_judged_and_that_is_said():
    found = compare_runs(run(1, program()), run(2, program()))
    assert found.provenance == (
        "times of 1 program were not judged: run both times with --rounds 5",
    )


# -- machines and versions -------------------------------------------------------------------------

SLOWER = program("step", "safe but slower or larger", "time call")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"machine": "another"}, "other machines: machine a machine and another;"),
        ({"machine": ""}, "other machines: the machine of run 2 is not recorded;"),
        ({"environment": {"cpu": "EPYC"}}, "other machines: cpu unknown and EPYC;"),
        ({"environment": {"device_kind": "H100"}}, "other machines: device kind cpu and H100;"),
    ],
)
def test_nothing_that_a_machine_decides_is_judged_on_another(changes, told):
    now = dataclasses.replace(with_memory(90 * MIB), samples=with_calls(9.0).samples)
    before = dataclasses.replace(with_memory(10 * MIB), samples=with_calls(1.0).samples)
    found = compare_runs(run(1, before), run(2, now, **changes))
    assert found.provenance[0].startswith(told)
    [changed] = found.programs
    assert (changed.outcome, changed.reasons) == ("within noise", ())
    assert [each.endswith("(not judged)") for each in changed.notes] == [True]
    assert change(program(), SLOWER, **changes).outcome == "within noise"
    assert change(program(), program("step", "different"), **changes).outcome == "newly different"


def test_figures_of_other_versions_are_noted_and_the_flip_is_compared():
    environment = {"jax": "0.12.0"}
    assert change(with_memory(10 * MIB), with_memory(90 * MIB), environment=environment).notes
    assert change(with_calls(1.0), with_calls(9.0), environment=environment).outcome == (
        "within noise"
    )
    assert change(program(), SLOWER, environment=environment).outcome == "worse"
    found = compare_runs(run(1, program()), run(2, program(), environment=environment))
    assert found.provenance == (
        "other versions: jax 0.10.2 and 0.12.0; times and sizes of a side are not judged",
    )


def test_times_of_other_settings_are_not_judged():
    found = compare_runs(
        run(1, with_calls(1.0)), run(2, with_calls(9.0), settings={"XLA_FLAGS": "--x"})
    )
    assert found.provenance == ("other settings: XLA_FLAGS unset and --x; times are not judged",)
    assert found.programs[0].outcome == "within noise"
    assert change(with_memory(10 * MIB), with_memory(90 * MIB), settings=None).outcome == "worse"


def test_flips_of_other_sides_are_not_compared():
    found = compare_runs(
        run(1, program()), run(2, program("step", "different"), sides=("legacy", "simplified"))
    )
    assert found.programs[0].outcome == "not comparable"
    assert (
        "the flip was judged on other sides, jax-legacy against jax-simplified and legacy against "
        "simplified: no program is comparable"
    ) in found.provenance
    assert change(program(), program(), sides=("legacy", "jax-legacy")).outcome == "not comparable"


def test_a_run_without_an_end_is_told():
    left = run(1, program(), finished="", planned=7)
    told = compare_runs(left, run(2, program())).provenance[0]
    assert told.startswith("run 1 has no end: 1 of 7 programs were finished")


# -- notes -----------------------------------------------------------------------------------------


def test_other_types_of_outputs_are_another_program():
    other = program(sides={"jax-legacy": StoredSide(outputs="x", output_types="others")})
    found = change(program(), other)
    assert found.outcome == "not comparable"
    assert found.reasons == ("jax-legacy: the outputs have other types than before",)


NO_OUTPUTS = StoredSide()
OTHER_BITS = StoredSide(outputs="other", output_types="types")


@pytest.mark.parametrize("changes", [{}, {"environment": {"jax": "0.12.0"}}, {"machine": "other"}])
def test_by_how_much_outputs_with_other_bits_differ_is_not_known(changes):
    found = change(program(), program(sides={**OF_SIDES, "jax-legacy": OTHER_BITS}), **changes)
    assert found.outcome == "not comparable"
    assert found.reasons == (
        "jax-legacy: the outputs have other bits than before (the file is the same)",
        "by how much is not known: output arrays are not kept (run --save keeps those)",
    )
    assert found.notes == ()


def test_a_program_with_other_bits_is_no_better_and_may_be_worse():
    sides = {**OF_SIDES, "jax-legacy": OTHER_BITS}
    cheaper = change(SLOWER, program(sides=sides, digest="cd"))
    assert cheaper.outcome == "not comparable"
    assert cheaper.reasons[0].endswith("other bits than before (the file is another)")
    slower = program("step", "safe but slower or larger", "time call", sides=sides)
    assert change(program(), slower).outcome == "worse"
    assert "other bits than before" in change(program(), slower).notes[0]


def test_a_program_that_lost_its_outputs_is_another():
    found = change(program(), program(sides=dict.fromkeys(SIDES, NO_OUTPUTS)))
    assert found.outcome == "not comparable"
    assert found.reasons[0] == "jax-legacy: the outputs have other types than before"


def test_other_counts_and_failures_are_noted():
    now = program(
        sides={
            "jax-simplified": StoredSide(failure="exception in trace (TypeError)"),
        }
    )
    assert change(program(), now).notes == (
        "jax-simplified: exception in trace (TypeError), before: worked",
    )
    more = program(sides={"jax-simplified": side(const_args=3)})
    fewer = program(sides={"jax-simplified": side(const_args=1)})
    assert change(more, fewer).notes == ("jax-simplified: const args 3 before, 1 now",)
