"""Programs that cannot run on this machine: shapes without values, devices that nobody here has.

What breaks is what stock JAX, in a process for each mode, refuses to lower for 256 devices.
"""

from types import SimpleNamespace

import pytest
from program_files import program_file

from parity_tests import targets
from parity_tests.advice import advice
from parity_tests.campaign import running
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.running import run_task
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.tasks import Task
from parity_tests.observe.measure import number
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from parity_tests.run.proving import ProvedFirst, prove
from reports.rows.fail_rules import parse
from reports.store.plan_records import finished
from tests.helpers.built_grids import ENVIRONMENT

FILE = program_file("reported/not_here")
SIDES = ("jax-legacy", "jax-simplified")
OPTIONS = CampaignOptions(sides=SIDES, timeout=60.0, attribute=False)


@pytest.fixture(scope="module")
def proofs():
    options = OPTIONS.model_copy(update={"platforms": ("cuda", "tpu")})
    return {each.name: each for each in prove([str(FILE)], options).programs}


@pytest.fixture(scope="module")
def rows():
    return {row.name: row for row in run.run([str(FILE)], OPTIONS).programs}


def test_what_cannot_run_here_is_proved(proofs):
    assert {name: each.answer for name, each in proofs.items()} == {
        "shapes_of_a_model": "proved",
        "sharded_argument": "proved",
        "explicit_axes": "proved",
        "mapped": "proved",
        "constrained": "proved",
        "captures_committed": "refuted",
        "states_its_outputs": "refuted",
        "writes_to_what_it_captures": "proved",
        "of_any_number_of_rows": "proved",
        "two_meshes": "failed",
    }


@pytest.mark.parametrize("name", ["sharded_argument", "explicit_axes", "mapped"])
def test_a_mesh_of_devices_that_are_away_is_lowered_for_each_platform(proofs, name):
    found = [(each.of, each.platform, each.answer) for each in proofs[name].claims]
    assert found == [
        ("jaxpr", "", "proved"),
        *(("module", platform, "proved") for platform in ("", "cuda", "tpu")),
    ]


def test_what_jax_does_not_lower_is_said_in_its_words(proofs):
    failure = proofs["two_meshes"].failure
    assert failure.startswith(
        "before the flip: exception in lower: ValueError: AbstractMesh should be of the same size "
        "across all shardings. "
    )


@pytest.mark.parametrize("name", ["captures_committed", "states_its_outputs"])
def test_an_array_on_one_device_stops_the_lowering_for_256_after_the_flip(proofs, name):
    found = proofs[name]
    assert found.failure == (
        "after the flip: exception in lower: ValueError: AbstractMesh size: 256 does not match "
        "the device assignment size: 1"
    )
    assert [(each.kind, each.fix) for each in found.hazards] == [
        ("incompatible devices", advice("not committed"))
    ]


def test_a_run_says_why_it_cannot_run_and_what_to_do(rows):
    assert {name: row.flip.outcome for name, row in rows.items()} == {
        "shapes_of_a_model": "could not compare",
        "sharded_argument": "could not compare",
        "explicit_axes": "could not compare",
        "mapped": "could not compare",
        "constrained": "safe",
        "captures_committed": "different",
        "states_its_outputs": "different",
        "writes_to_what_it_captures": "could not compare",
        "of_any_number_of_rows": "could not compare",
        "two_meshes": "could not compare",
    }
    told = {
        name: (first.what, first.action)
        for name, row in rows.items()
        if (first := next(iter(row.flip.reasons), None)) and row.is_not_here
    }
    cannot, what = "it cannot run here: ", advice("not here")
    of_one = f"{cannot}its argument `x` (bfloat16[32,4096]) is a shape without values"
    assert told == {
        "shapes_of_a_model": (
            f"{cannot}its arguments `w['dense']` (float32[16,64]), `x` (bfloat16[32,4096]) are "
            "shapes without values",
            what,
        ),
        "sharded_argument": (of_one, what),
        "explicit_axes": (of_one, what),
        "mapped": (
            f"{cannot}its shard_map is over an abstract mesh of 256 devices, and it has 1",
            what,
        ),
        "writes_to_what_it_captures": (
            f"{cannot}its argument `x` (float32[16]) is a shape without values",
            what,
        ),
        "of_any_number_of_rows": (
            f"{cannot}its argument `x` (bfloat16[rows,16]) is a shape without values",
            what,
        ),
    }


def test_what_cannot_run_here_has_its_proof_beside(rows):
    said = [each.what for each in rows["sharded_argument"].flip.reasons if each.kind == "proof"]
    assert said == ["both forms are proved one computation"]


@pytest.mark.parametrize("name", ["captures_committed", "states_its_outputs"])
def test_what_breaks_before_it_could_run_is_a_failure_of_the_flip(rows, name):
    first = rows[name].flip.reasons[0]
    assert (first.kind, first.action) == ("failure", advice("not committed"))
    assert first.what.startswith(
        "works on jax-legacy and fails on jax-simplified: exception in lower: ValueError: "
    )


def test_a_campaign_leaves_alone_what_cannot_run_here(rows):
    rules = parse("different,new-failure,not-compared")
    kept = {name: finished(0, row, rules) for name, row in rows.items()}
    assert {name: (each.state, each.broken) for name, each in kept.items()} == {
        "shapes_of_a_model": ("unavailable", ()),
        "sharded_argument": ("unavailable", ()),
        "explicit_axes": ("unavailable", ()),
        "mapped": ("unavailable", ()),
        "constrained": ("safe", ()),
        "captures_committed": ("breaks", ("new-failure",)),
        "states_its_outputs": ("breaks", ("new-failure",)),
        "writes_to_what_it_captures": ("unavailable", ()),
        "of_any_number_of_rows": ("unavailable", ()),
        "two_meshes": ("could not compare", ("not-compared",)),
    }


def test_a_sample_of_what_is_proved_first_has_its_proof_where_it_cannot_run(
    rows, tmp_path, monkeypatch
):
    target, asked = f"{FILE}:mapped", []
    told = rows["mapped"].model_copy(update={"proved_only": True})

    def run_again(targets, options, *, progress, first):
        asked.extend(targets)
        return SimpleNamespace(programs=(rows["mapped"],), environment=ENVIRONMENT)

    monkeypatch.setattr(running.campaign, "run", run_again)
    monkeypatch.setattr(
        running, "prove_first", lambda *args, **kwargs: ProvedFirst(ENVIRONMENT, {target: told})
    )
    monkeypatch.setattr(running, "is_drawn", lambda what, name, of: True)
    program = PlannedProgram(
        place=0, environment="here", corpus="models", name="mapped", target=target
    )
    spec = CampaignSpec(sides=SIDES, self_comparison=False, proof="first")
    [task] = Task(campaign=spec, working_directory=str(FILE.parent)).cut([program])
    [found] = run_task(task, tmp_path).programs
    assert (asked, found.state, found.proof) == ([target], "proved", "not run")


def test_a_jaxpr_does_not_tell_whether_jax_lowers_for_an_abstract_mesh():
    def numbered(name):
        return number(targets.load_one(f"{FILE}:{name}"), "jax-legacy", lowers=False)

    assert numbered("two_meshes").failure.stage == "lower"
    assert [list(numbered(name).numbers.modules) for name in ("mapped", "shapes_of_a_model")] == [
        [""], [],
    ]  # fmt: skip
