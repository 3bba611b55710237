"""`proof = "first"`: what is proved with a clean contract is not run, but for a sample."""

import zlib
from types import SimpleNamespace

import pytest

from parity_tests.campaign import running
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.running import LOWERED_OF, RUN_OF, is_drawn, run_task
from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.tasks import Task
from reports.documents.plan import answer, lines
from reports.output import json_file
from reports.rows.plan import PlanProof
from reports.store.plan_records import finished
from reports.store.plan_report import plan_report
from reports.store.plans import opened_plan
from tests.helpers.built_grids import ENVIRONMENT
from tests.helpers.quick_campaigns import begin, tasks
from tests.helpers.quick_tasks import row, run_with

SIDES = ("jax-legacy", "jax-simplified")
PROGRAMS = """
import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

TABLE = jnp.asarray(np.arange(100.0, dtype=np.float32))
COMMITTED = jax.device_put(TABLE, jax.devices()[0])
WRITTEN = np.zeros(100, np.float32)
two = program(args=(jnp.float32(2.0),))


@two
def scales(x):
    return x * TABLE


@two
def adds(x):
    return x + TABLE


@two
def subtracts(x):
    return x - TABLE


@two
def places(x):
    return x * COMMITTED


@two
def keeps_numpy(x):
    return x * WRITTEN


@program
def donates():
    return jax.jit(lambda x: x * TABLE, donate_argnums=0), (TABLE,)


def note(value):
    WRITTEN[0] += 1
    return value


@two
def writes(x):
    return jax.pure_callback(note, x, x) * WRITTEN


@two
def raises(x):
    raise ValueError("planted")
"""
# Names decide which proved programs run all the same, and which are lowered beside.
SAMPLED, LOWERED = "sampled_157", "lowered_31"
NAMES = {
    "scales": "scales", "adds": SAMPLED, "subtracts": LOWERED, "places": "places",
    "keeps_numpy": "keeps_numpy", "donates": "donates", "writes": "writes", "raises": "raises",
}  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Prove a task of all programs, and take those for safe that are run; return what is kept.

    By name it is what a store keeps of a program, and its row.
    """

    def run(targets, options, *, progress, first):
        rows = [row(each).model_copy(update={"target": each}) for each in targets]
        return SimpleNamespace(programs=rows, environment=ENVIRONMENT)

    folder = tmp_path_factory.mktemp("proof")
    file = folder / "programs.py"
    file.write_text(PROGRAMS)
    programs = [
        PlannedProgram(
            place=place, environment="here", corpus="models", name=name, target=f"{file}:{target}"
        )
        for place, (target, name) in enumerate(NAMES.items())
    ]
    spec = CampaignSpec(sides=SIDES, attribute=False, self_comparison=False, proof="first")
    [task] = Task(campaign=spec, working_directory=str(folder)).cut(programs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running.campaign, "run", run)
        found = run_task(task, folder)
    rows = [json_file.program_of(zlib.decompress(each.packed).decode()) for each in found.programs]
    return {name: each for name, *each in zip(NAMES.values(), found.programs, rows, strict=True)}


def test_what_is_proved_with_a_clean_contract_is_not_run_but_for_a_sample(ran):
    assert {name: (kept.state, kept.proof) for name, (kept, _) in ran.items()} == {
        "scales": ("proved", "not run"),
        SAMPLED: ("safe", "sampled"),
        LOWERED: ("proved", "not run"),
        "places": ("placed otherwise", "not run"),
        "keeps_numpy": ("proved", "not run"),
        "donates": ("safe", ""),
        "writes": ("safe", ""),
        "raises": ("safe", ""),
    }


def test_of_what_was_not_run_no_figure_is_made_up(ran):
    _, found = ran["scales"]
    assert (found.verdict, found.comparisons, found.times, found.proved_only) == (
        "could not compare", (), (), True,
    )  # fmt: skip
    for each in found.observations:
        measured = each.times, each.outputs, each.executable, each.stablehlo, each.memory
        assert measured == (None, (), None, None, None)


def test_a_sample_is_lowered_beside(ran):
    modules = {
        name: [set(each.numbers.modules) for each in found.observations]
        for name, (_, found) in ran.items()
        if found.proved_only
    }
    assert modules == {each: [set(), set()] for each in modules} | {LOWERED: [{""}, {""}]}


def test_hazards_that_no_run_settles_are_named(ran):
    _, found = ran["keeps_numpy"]
    assert [each.kind for each in found.hazards] == ["writeable NumPy array"]
    assert [each.subject for each in found.flip.reasons if each.kind == "hazard"] == [
        "writeable NumPy array"
    ]


def test_names_alone_decide_what_is_in_a_sample():
    names = [f"seed_7_program_{number}" for number in range(20_000)]
    run = [each for each in names if is_drawn("run", each, RUN_OF)]
    lowered = [each for each in names if is_drawn("lowered", each, LOWERED_OF)]
    assert (len(run), run[:2]) == (200, ["seed_7_program_71", "seed_7_program_184"])
    assert abs(len(lowered) - 2000) < 100


@pytest.fixture
def reported(tmp_path):
    """Keep programs with what is proved of them in a store, and report on it."""

    updates = {
        "not run": {"proof": "not run", "state": "proved"},
        "placed": {"proof": "not run", "state": "placed otherwise"},
    }

    def report(**proofs):
        def kept(each):
            update = updates.get(what := proofs[each.name], {"proof": what})
            return finished(each.place, row(each.name)).model_copy(update=update)

        names = tuple(proofs)
        with opened_plan(tmp_path / "runs.db", begin(names)) as plan:
            run_tasks(plan, tasks(names), run_with(kept))
        return plan_report(plan.path)

    return report


def test_a_report_says_how_many_are_proved_and_what_the_sample_shows(reported):
    found = reported(a="not run", b="placed", c="sampled", d="")
    assert found.proof == PlanProof(not_run=2, sampled=1)
    [said] = [each for each in lines(found) if "proved" in each]
    assert said == (
        "2 of 4 programs are proved and were not run (1 in another state, by a hazard); 1 more is "
        "proved and was run as a sample: it does not differ in what the proof excludes"
    )


def test_a_run_that_contradicts_its_proof_is_told_first(reported):
    found = reported(a="not run", b="sampled", c="outputs differ by another program")
    assert found.proof.contradicted == {"c": "outputs differ by another program"}
    assert answer(found) == ("3 programs: 1 contradicts its proof", "bad")
    said = [each for each in lines(found) if "proof" in each]
    assert said == [
        "1 of 3 programs is proved and was not run; 2 more are proved and were run as a sample: "
        "1 contradicts its proof",
        "A fault of constparity or of JAX, for its proof excludes it: c: outputs differ by another "
        "program",
    ]


def test_a_campaign_that_proves_nothing_first_says_nothing_of_it(reported):
    assert reported(a="").proof is None
