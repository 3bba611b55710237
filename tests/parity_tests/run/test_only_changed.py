"""Verdicts of unchanged programs are taken over from a kept result, and those of no others."""

import os
import textwrap

import pytest

from parity_tests.cli import app
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run import run
from parity_tests.run.collection import Collected, Context
from parity_tests.run.only_changed import may_be_taken_over, settings_of, unchanged_since
from parity_tests.run.options import CampaignOptions
from reports.output import json_file
from reports.rows import DriftAttribution, FlipReason

SIDES = ("jax-legacy", "jax-simplified")
PROGRAMS = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
from jax.experimental.layout import Format, Layout
from parity_tests import program

X = np.ones(64, np.float32)
HELD = jnp.arange(64.0)
HERE = jax.sharding.SingleDeviceSharding(jax.devices()[0])
LAID = jax.device_put(np.ones((64, 64), np.float32), Format(Layout({layout}), HERE))

@program(args=(X,))
def unchanged(x):
    return jnp.sin(x) * HELD

@program(args=(X,))
def {name}(x):
    return x * {factor} + HELD

@program(args=(X,))
def other_array(x):
    return x + jnp.full(64, {factor})

@program(args=({factor} * X,))
def other_argument(x):
    return x + HELD

@program(args=(X,))
def other_operation(x):
    return jnp.{fun}(x)

@program(args=(X,))
def other_hazard(x):
    return x * np.arange(64, dtype=np.float32) * {hazard}

@program(args=(jax.device_put(X, jax.devices()[0]),))
def other_layout(x):
    return x + LAID[0]

@program(args=(X,))
def other_function(x):
    return jax.tree_util.Partial(lambda y, x: y * {factor}, x)

@program
def several_jits():
    inner = jax.jit(lambda x: x * HELD)
    return (lambda x: inner(inner(x))), (X,)

def from_a_file(x):
    with open(__file__) as file:
        return np.float32(len(file.read())) + x

@program(args=(X,))
def calls_back(x):
    return jax.pure_callback(from_a_file, x, x)
"""

SETS = """
import os
os.environ["{variable}"] = "--xla_cpu_enable_fast_math=true"

import jax.numpy as jnp
from parity_tests import program

@program(args=(jnp.ones(64),))
def sets_at_import(x):
    return x + 1
"""


def run_on(file, **options):
    said = []
    options = {"sides": SIDES, "steady_calls": 0, **options}
    targets = [str(file), str(file.with_name("sets.py"))]
    result = run.run(targets, CampaignOptions(**options), announce=said.append)
    return result, said


def written(folder, **given):
    file = folder / "model.py"
    known = {
        "name": "renamed", "factor": 2.0, "fun": "sin", "hazard": 1.0, "variable": "OF_MY_OWN",
        "layout": (0, 1),
    } | given  # fmt: skip
    file.write_text(PROGRAMS.format(**known))
    (folder / "sets.py").write_text(SETS.format(**known))
    return file


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    result, _ = run_on(written(folder))
    (folder / "kept.json").write_text(json_file.render(result))
    return folder / "kept.json", result


@pytest.fixture(scope="module")
def later(kept):
    """The programs run once more, when all but the first have changed."""
    path, _ = kept
    changed = {
        "name": "new_name", "factor": 3.0, "fun": "cos", "hazard": "np.ones(64, np.float32)",
        "variable": "XLA_FLAGS", "layout": (1, 0),
    }  # fmt: skip
    result, said = run_on(written(path.parent, **changed), only_changed=path)
    (path.parent / "later.json").write_text(json_file.render(result))
    return path.parent / "later.json", result, said


def test_what_changed_in_its_numbers_values_or_hazards_runs_and_the_rest_is_taken_over(kept, later):
    (path, before), (_, after, said) = kept, later
    created = before.created
    assert {row.name: row.taken_from for row in after.programs} == {
        "unchanged": created,
        "new_name": "",
        "other_array": "",
        "other_argument": "",
        "other_operation": "",
        "other_hazard": "",
        "other_layout": "",
        "other_function": "",
        "several_jits": "",
        "calls_back": "",
        "sets_at_import": "",
    }
    assert after.programs[-1].verdict == "could not compare"
    assert said == [f"1 of 11 programs unchanged since {created} ({path})"]
    assert after.provenance == (
        f"the verdicts of 1 of 11 programs were taken over: they are unchanged since {created}; "
        "their times were not measured",
    )


def test_a_verdict_is_taken_over_whole_but_for_times_and_lines_of_a_file_that_changed(kept, later):
    (_, before), (_, after, _) = kept, later
    then, now = before.programs[0], after.programs[0]
    assert (now.verdict, now.reasons, now.comparisons) == (
        then.verdict, then.reasons, then.comparisons,
    )  # fmt: skip
    assert now.flip.outcome == then.flip.outcome
    assert now.digest != then.digest
    assert [each.times for each in now.observations] == [None, None]
    assert {array.line for each in then.observations for array in each.ledger} == {14}
    assert {array.line for each in now.observations for array in each.ledger} == {0}


def test_a_row_that_was_taken_over_is_taken_over_again_from_where_it_was_measured(kept, later):
    (_, before), (path, after, _) = kept, later
    again, said = run_on(path.parent / "model.py", only_changed=path)
    assert said == [f"8 of 11 programs unchanged since {after.created} ({path})"]
    assert {row.name: row.taken_from for row in again.programs} == {
        row.name: row.taken_from or after.created for row in after.programs
    } | {"several_jits": "", "calls_back": "", "sets_at_import": ""}
    assert again.programs[0].taken_from == before.created


def options_of(**options):
    return CampaignOptions(**{"sides": SIDES, "steady_calls": 0, **options})


def said_of(path, campaign, **options):
    """What is announced where no program is there any more."""
    said = []
    listing = Listing(programs=(), environment=campaign.environment)
    options = options_of(**options)
    context = Context(Collected(listing), options, path.parent / "folder", announce=said.append)
    assert unchanged_since(path, context) == {}
    return said


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        ({}, {"sides": SIDES[::-1]}, "its sides are jax-legacy, jax-simplified"),
        ({}, {"reload": True}, "it was measured otherwise: reload False and True"),
        (
            {"settings": None}, {},
            "it does not say how it was measured; run once without --only-changed",
        ),
        ({"jaxlib": "0.9"}, {}, "it was measured otherwise: jaxlib 0.9 and {jaxlib}"),
    ],
)  # fmt: skip
def test_nothing_is_taken_over_from_what_was_measured_otherwise(kept, tmp_path, before, now, why):
    _, campaign = kept
    environment = campaign.environment
    changed = campaign.model_copy(
        update={
            "environment": environment.model_copy(
                update={"jaxlib": before.get("jaxlib", environment.jaxlib)}
            ),
            "settings": before.get("settings", campaign.settings),
        }
    )
    path = tmp_path / "kept.json"
    path.write_text(json_file.render(changed))
    why = why.format(jaxlib=environment.jaxlib)
    assert said_of(path, campaign, **now) == [f"nothing is taken over from {path}: {why}"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_DEFAULT_MATMUL_PRECISION", "highest"),
        ("CONSTPARITY_EMBEDDED_CONSTANTS_MAX_BYTES", "1000000"),
        ("NVIDIA_TF32_OVERRIDE", "0"),
        ("LIBTPU_INIT_ARGS", "--xla_tpu_enable_async_collective_fusion=true"),
    ],
)
def test_variables_that_jax_xla_and_the_engine_read_are_settings(kept, monkeypatch, name, value):
    path, campaign = kept
    monkeypatch.setenv(name, value)
    assert said_of(path, campaign) == [
        f"nothing is taken over from {path}: it was measured otherwise: {name} unset and {value}"
    ]


def test_flags_of_xla_in_a_file_are_settings_by_what_it_holds(kept, tmp_path, monkeypatch):
    _, campaign = kept
    flags = tmp_path / "flags"
    flags.write_text("--xla_cpu_enable_fast_math=true")
    monkeypatch.setenv("XLA_FLAGS", str(flags))
    since = campaign.model_copy(update={"settings": settings_of(options_of())})
    (tmp_path / "kept.json").write_text(json_file.render(since))
    [unchanged] = said_of(tmp_path / "kept.json", campaign)
    assert unchanged.startswith("0 of 0 programs unchanged since")
    flags.write_text("--xla_cpu_enable_fast_math=false")
    [changed] = said_of(tmp_path / "kept.json", campaign)
    assert f"it was measured otherwise: XLA_FLAGS {flags} (SHA-256 " in changed


def reason(kind, outcome, where=""):
    return FlipReason(kind=kind, outcome=outcome, what="", where=where)


@pytest.mark.parametrize(
    ("reasons", "digest", "is_taken"),
    [
        pytest.param((), "other", True, id="nothing is told"),
        pytest.param([reason("gain", "safe")], "other", True, id="a gain is left out"),
        pytest.param([reason("time", "safe but slower or larger")], "same", False, id="a time"),
        pytest.param([reason("outputs", "different", "a.py:1")], "same", True, id="a line"),
        pytest.param([reason("outputs", "different", "a.py:1")], "other", False, id="old lines"),
        pytest.param([reason("hazard", "safe", "a.py:1")], "other", True, id="lines looked up"),
    ],
)
def test_a_verdict_that_rests_on_a_time_or_tells_lines_that_may_have_moved_is_found_anew(
    kept, reasons, digest, is_taken
):
    _, campaign = kept
    row = campaign.programs[0]
    flip = row.flip.model_copy(update={"reasons": tuple(reasons)})
    program = Listed(name=row.name, target=row.target, source=row.source, digest=digest)
    known = row.model_copy(update={"flip": flip, "digest": "same"})
    assert may_be_taken_over(known, program) == is_taken


HELPED = """
import jax.numpy as jnp
from parity_tests import program
from {name} import helped

by_helper = program(args=(jnp.ones(64),))(lambda x: helped(x))
"""
HELPER = """import jax.numpy as jnp
HELD = jnp.arange(64.0)
def helped(x):
    return jnp.sin(x) * HELD
"""


def test_lines_of_another_file_than_the_program_s_are_not_told_once_that_file_has_changed(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    model, helper = tmp_path / "helped_model.py", tmp_path / "their_helper.py"
    model.write_text(HELPED.format(name=helper.stem))
    helper.write_text(HELPER)
    (tmp_path / "kept.json").write_text(json_file.render(run.run([str(model)], options_of())))

    def lines_taken_over():
        options = options_of(only_changed=tmp_path / "kept.json")
        [row] = run.run([str(model)], options).programs
        assert row.taken_from
        return {(array.file, array.line) for each in row.observations for array in each.ledger}

    assert lines_taken_over() == {(str(helper), 4)}
    helper.write_text(f"# A line more.\n{HELPER}")
    assert lines_taken_over() == {("", 0)}


def test_programs_of_a_module_run_again_once_its_import_sets_something_else(tmp_path):
    model = tmp_path / "setting_model.py"

    def taken(sets, kept):
        text = """
            import jax, jax.numpy as jnp
            from parity_tests import program
            {sets}
            first = program(name="first", args=(jnp.ones(64),))(lambda x: x + 1)
            second = program(name="second", args=(jnp.ones(64),))(lambda x: x + 2)
        """
        model.write_text(textwrap.dedent(text.format(sets=sets)))
        result = run.run([str(model)], options_of(only_changed=kept))
        (tmp_path / "kept.json").write_text(json_file.render(result))
        return [bool(row.taken_from) for row in result.programs]

    sets = "jax.config.update('jax_xla_profile_version', 3)"
    assert taken("", None) == [False, False]
    assert taken("pass", tmp_path / "kept.json") == [True, True]
    assert taken(sets, tmp_path / "kept.json") == [False, False]
    assert taken(sets, tmp_path / "kept.json") == [True, True]


def test_a_drift_that_is_told_by_a_line_of_a_file_that_has_changed_is_found_anew(kept):
    _, campaign = kept
    row = campaign.programs[0]
    drift = DriftAttribution(
        left=SIDES[0], right=SIDES[1], cause="constant folding", evidence="", file="helper.py"
    )
    told = row.model_copy(update={"drift": (drift,)})
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    assert may_be_taken_over(told, program, {"other.py"})
    assert not may_be_taken_over(told, program, {"helper.py"})


@pytest.mark.parametrize(
    ("cause", "is_taken"), [("constant folding", True), ("not attributed", False)]
)
def test_a_drift_whose_cause_was_not_found_is_looked_into_again(kept, cause, is_taken):
    """Its time was over perhaps, and a bug is *explained* until it is found."""
    _, campaign = kept
    row = campaign.programs[0]
    drift = DriftAttribution(left=SIDES[0], right=SIDES[1], cause=cause, evidence="")
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    assert may_be_taken_over(row.model_copy(update={"drift": (drift,)}), program) == is_taken


@pytest.mark.parametrize(
    ("verdict", "is_taken"), [("agrees here, not proved", True), ("could not compare", False)]
)
def test_a_verdict_that_another_run_would_give_as_well_is_taken_over(kept, verdict, is_taken):
    _, campaign = kept
    row = campaign.programs[0].model_copy(update={"verdict": verdict})
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    assert may_be_taken_over(row, program) == is_taken


def test_a_program_with_an_argument_whose_contents_were_not_read_runs_again(kept):
    _, campaign = kept
    row = campaign.programs[0]
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    [argument] = row.observations[0].arguments
    unread = argument.model_copy(update={"sha256": ""})
    large = [each.model_copy(update={"arguments": (unread,)}) for each in row.observations]
    assert may_be_taken_over(row, program)
    assert not may_be_taken_over(row.model_copy(update={"observations": tuple(large)}), program)


def test_a_program_that_was_called_before_runs_again(kept):
    _, campaign = kept
    row = campaign.programs[0]
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    called = row.observations[0].numbers.model_copy(update={"calls_may_differ": True})
    before = [each.model_copy(update={"numbers": called}) for each in row.observations]
    assert not may_be_taken_over(row.model_copy(update={"observations": tuple(before)}), program)


def test_a_program_that_calls_a_library_runs_again(kept):
    """The library may be another one that has the same names."""
    _, campaign = kept
    row = campaign.programs[0]
    program = Listed(name=row.name, target=row.target, source=row.source, digest=row.digest)
    numbers = row.observations[0].numbers
    native = numbers.model_copy(
        update={"jaxpr": numbers.jaxpr.model_copy(update={"is_native": True})}
    )
    calling = [each.model_copy(update={"numbers": native}) for each in row.observations]
    assert not may_be_taken_over(row.model_copy(update={"observations": tuple(calling)}), program)


@pytest.mark.parametrize("option", [["--save", "b.json"], ["--store", "b.db"], ["--resume", "b"]])
def test_an_option_that_needs_arrays_or_times_is_refused(option, capsys, kept):
    path, _ = kept
    assert app.main(["run", "model.py", "--only-changed", str(path), *option]) == 4
    assert f"--only-changed and {option[0]}: what is taken over has no arrays" in (
        " ".join(capsys.readouterr().err.split())
    )
