"""A campaign over planted faults: each is caught, and the programs after it still run."""

import shutil
from itertools import takewhile

import pytest
from program_files import line_with, program_file

from parity_tests.judge.verdict import conclude
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run import run
from parity_tests.run.collection import Collected, Context
from parity_tests.run.comparing import draft_of
from parity_tests.run.options import CampaignOptions
from reports.rows import Campaign


def comparison(row, metric):
    [found] = [each for each in row.comparisons if each.metric == metric]
    return found


def failure(row, side):
    [found] = [each.failure for each in row.observations if each.side == side]
    return found


def test_a_program_without_faults_is_at_parity(rows):
    row = rows["good"]
    assert (row.verdict, row.reasons, row.summary) == ("parity", (), "Scales captured weights.")
    assert comparison(row, "outputs").detail == "bitwise equal"
    assert comparison(row, "const args").outcome == "expected difference"
    assert comparison(row, "compile seconds").outcome == "not judged"


def test_each_side_comes_with_its_proof(rows):
    legacy, simplified = rows["good"].observations
    assert legacy.proof.statement == "1 captured array, no const args, 308 bytes inlined"
    assert legacy.proof.inlined_constant_bytes == 77 * 4
    assert simplified.proof.const_args == 1
    assert simplified.proof.inlined_constant_bytes == 0
    assert legacy.proof.holds
    assert simplified.proof.holds


def test_each_side_has_its_ledger_and_the_program_its_hazards(rows):
    legacy, simplified = (each.ledger for each in rows["good"].observations)
    [[inlined], [hoisted]] = legacy, simplified
    # XLA knows the numbers from 0 to 76 when it sees them.
    assert (inlined.fate, hoisted.fate) == ("folded", "hoisted")
    assert inlined.line == hoisted.line > 0
    assert inlined.sha256 == hoisted.sha256
    assert [hazard.kind for hazard in rows["good"].hazards] == ["writeable NumPy array"]
    assert [hazard.kind for hazard in rows["other_value"].hazards] == ["reads the flag"]


@pytest.mark.parametrize("saved", ["model.py", "helper.py", ""])
def test_a_file_that_is_saved_during_the_run_is_told(tmp_path, monkeypatch, saved):
    (tmp_path / "helper.py").write_text("FACTOR = 2\n")
    (tmp_path / "model.py").write_text(
        "import helper\nfrom parity_tests import program\n\n"
        "@program(args=(1.0,))\ndef scaled(x):\n    return x * helper.FACTOR\n"
    )
    monkeypatch.chdir(tmp_path)

    def save(context):
        if saved:
            (tmp_path / saved).write_text(f"{(tmp_path / saved).read_text()}# saved\n")

    options = CampaignOptions(sides=("jax-legacy",), steady_calls=0)
    told = run.run(["model.py"], options, first=save).provenance
    files = [each.partition(" changed during the run: ")[0] for each in told]
    assert files == ([saved] if saved else [])


def test_a_program_that_ends_its_process_has_its_hazards_all_the_same():
    file = program_file("ends_its_process")
    options = CampaignOptions(sides=("legacy", "jax-legacy"), steady_calls=0, timeout=30)
    result = run.run([str(file)], options)
    [row] = result.programs
    assert {each.failure.kind for each in row.observations} == {"crash"}
    assert [hazard.kind for hazard in row.hazards] == ["writeable NumPy array"]


def test_a_module_that_changes_the_working_directory_does_so_for_its_own_programs(
    tmp_path, monkeypatch
):
    """Its own read what is beside it, each of them; relative targets stay what they are."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.txt").write_text("2")
    (tmp_path / "outer.txt").write_text("3")
    moves = shutil.copy(program_file("changes_the_directory"), tmp_path / "sub" / "moves.py")
    (tmp_path / "stays.py").write_text(
        "from parity_tests import program\n"
        "@program\n"
        "def third():\n"
        "    factor = float(open('outer.txt').read())\n"
        "    return lambda x: x * factor, (1.0,)\n"
    )
    monkeypatch.chdir(tmp_path)
    options = CampaignOptions(sides=("legacy", "simplified"), steady_calls=0)
    result = run.run(["sub/moves.py", "stays.py"], options)
    first, second = (line_with(moves, f"def {name}()") - 1 for name in ("first", "second"))
    assert [(row.name, row.source, row.verdict) for row in result.programs] == [
        ("first", f"sub/moves.py:{first}", "parity"),
        ("second", f"sub/moves.py:{second}", "parity"),
        ("third", "stays.py:2", "parity"),
    ]
    assert [len(row.hazards) for row in result.programs] == [1, 1, 0]


def test_a_program_that_cannot_be_traced_has_no_hazards(rows):
    assert rows["raises"].hazards == ()


def test_an_observation_has_every_measurement(rows):
    for observation in rows["good"].observations:
        assert observation.jaxpr.captured_bytes == 308
        assert observation.stablehlo.functions == 1
        assert observation.memory.outputs >= 77 * 4 + 4
        assert observation.times.call_samples >= 3
        assert [leaf.path for leaf in observation.outputs] == ["['scaled']", "['sum']"]
        assert observation.outputs[0].shape == (77,)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("other_value", "outputs"),
        ("other_dtype", "output dtypes"),
        ("other_shape", "output shapes"),
        ("other_weak_type", "output weak types"),
        ("other_structure", "output structure"),
        ("other_equations", "jaxpr equations"),
    ],
)
def test_a_difference_is_found_where_it_was_planted(rows, name, metric):
    row = rows[name]
    assert row.verdict == "difference"
    assert comparison(row, metric).outcome == "different"
    assert any(metric in reason for reason in row.reasons)


def test_a_mismatch_says_how_far_and_where(rows):
    reason, *_ = rows["other_value"].reasons
    assert reason == (
        "jax-legacy and jax-simplified: outputs differ: mismatch at the only output: "
        "max rel 0.33, max abs 1, 4194304 ULP; "
        "1 of 1 elements are beyond rtol = atol = 1e-06; the first: 2.0 and 3.0; "
        "errors of 0 and 1 against a run in double precision: the first is nearer"
    )


def test_rounding_is_no_difference_and_says_so(rows):
    row = rows["other_rounding"]
    assert row.verdict == "agrees here, not proved"
    [reason] = row.reasons
    assert "equal, though not bitwise: ulp at the only output" in reason
    assert "XLA was given two programs, inlined constants against const args" in reason


def test_equally_good_outputs_agree_by_the_arbiter(rows):
    row = rows["other_order"]
    assert comparison(row, "outputs").leaves[0].rung == "arbiter"
    assert comparison(row, "outputs").leaves[0].max_rel > 1e-6
    assert row.verdict == "agrees here, not proved"
    assert "against a run in double precision" in row.reasons[0]


def test_without_an_arbiter_the_tolerance_decides_and_says_why(rows):
    row = rows["other_order_of_bits"]
    assert row.verdict == "difference"
    assert comparison(row, "outputs").leaves[0].rung == "mismatch"
    assert row.reasons[-1] == (
        "there is no arbiter: NoArbiterError: the program reads the bits of a floating-point value"
    )


def test_a_crash_is_recorded_with_its_stage_and_last_words(rows):
    row = rows["exits"]
    assert row.verdict == "could not compare"
    assert row.reasons == ("jax-simplified: crash in trace: exit status 7: the process ended",)
    assert "last words" in failure(row, "jax-simplified").traceback
    assert failure(row, "jax-legacy") is None


def test_a_signal_is_named(rows):
    assert failure(rows["aborts"], "jax-simplified").type == "signal SIGABRT"


def test_a_program_that_hangs_meets_its_time_limit(rows):
    found = failure(rows["hangs"], "jax-simplified")
    assert (found.kind, found.stage) == ("timeout", "trace")
    assert found.message == "no result in 5 seconds"


def test_programs_after_a_crash_still_run(rows):
    assert rows["last"].verdict == "parity"


def test_an_exception_is_data(rows, faults_file):
    row = rows["raises"]
    assert row.verdict == "could not compare"
    at = f"tests/programs/faults.py:{line_with(faults_file, 'raise LookupError')}"
    assert row.reasons == (
        f"jax-legacy: exception in trace: LookupError: no such thing ({at})",
        f"jax-simplified: exception in trace: LookupError: no such thing ({at})",
    )
    assert "both sides fail alike" in comparison(row, "outputs").detail
    assert "faults.py" in failure(row, "jax-legacy").traceback


def test_a_message_that_is_not_text_is_spelled_out(rows):
    row = rows["raises_unspeakably"]
    found = failure(row, "jax-legacy")
    assert (found.kind, found.type) == ("exception", "LookupError")
    assert found.message == "no file \\udcff.txt"
    assert "faults.py" in found.traceback


def test_an_exception_on_one_side_cannot_be_compared(rows):
    row = rows["raises_on_one_side"]
    assert row.verdict == "could not compare"
    assert comparison(row, "outputs").left_value == "works"


def test_a_factory_that_raises_fails_to_build(rows):
    found = failure(rows["factory_raises"], "jax-legacy")
    assert (found.stage, found.type, found.message) == ("build", "OSError", "no data")


def test_a_factory_that_returns_nonsense_is_told_what_to_return(rows):
    found = failure(rows["factory_returns_nonsense"], "jax-legacy")
    assert "factory_returns_nonsense" in found.message
    assert "must return (fun, args) or (fun, args, kwargs)" in found.message
    assert "it returned int: 3" in found.message


def test_the_campaign_is_a_difference_and_reads_back(faults):
    assert faults.verdict == "difference"
    assert Campaign.model_validate_json(faults.model_dump_json()) == faults
    assert faults.environment.backend


def test_progress_is_told_of_every_step(faults, progress):
    total = 2 * len(faults.programs)
    measured = list(takewhile(lambda step: not step[2].startswith(("judging ", "meas")), progress))
    # A stage that takes long is told while it lasts.
    assert list(dict.fromkeys(done for done, _, _ in measured)) == list(range(total + 1))
    assert {of for _, of, _ in measured} == {total}
    texts = [text for _, _, text in progress[len(measured) :]]
    assert {f"judging {row.name}" for row in faults.programs} <= set(texts)
    assert "judging other_value: in double precision, at most 5 s" in texts
    assert any(text.startswith("run again on jax-legacy and jax-simplified (") for text in texts)
    assert "run again: jax-legacy: other_value" in texts
    assert "" not in texts


def test_a_corpus_module_without_its_library_is_a_row_with_the_reason(tmp_path):
    missing = Listed(name="flax", target="corpus.flax", unavailable="flax is not installed")

    def ask():
        pytest.fail("it was asked")

    context = Context(Collected(Listing(programs=(missing,))), CampaignOptions(), tmp_path)
    draft = draft_of(context, 0, ask, ask)
    row = draft.row(conclude(draft.findings))
    assert (row.verdict, row.reasons) == ("could not compare", ("flax is not installed",))
    assert (row.observations, row.comparisons) == ((), ())
