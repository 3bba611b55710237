"""The search by itself, on drafts of which a function of the test says what they show."""

import jax.numpy as jnp
import numpy as np
import pytest
from built_campaigns import failed
from jax import lax

from parity_tests.evidence.records import Evidence
from parity_tests.judge.verdict import judge
from parity_tests.processes.options import Limits
from parity_tests.processes.warm_workers import Judged, warm_pair
from parity_tests.program import from_function
from parity_tests.reduce import draft as drafts
from parity_tests.reduce import jaxpr_to_draft
from parity_tests.reduce.pruning import cleaned
from parity_tests.reduce.reduce import Question, ReduceError, symptom_to_keep
from parity_tests.reduce.search import Search
from parity_tests.reduce.symptom import Symptom, symptoms

TABLE = jnp.arange(40.0)


def program(x):
    y = lax.fori_loop(0, 3, lambda i, v: jnp.sin(v) * TABLE, x * TABLE)
    z = lax.cond(x > 0, lambda v: jnp.cos(v), lambda v: v - TABLE, y)
    return jnp.tanh(z), jnp.exp(y).sum()


def search(wanted, **bounds):
    """Search for the smallest draft that has the wanted primitives, at any depth."""
    draft = cleaned(
        jaxpr_to_draft.read(from_function(lambda: (program, (np.float32(2.0),)), "")).draft
    )
    asked = []

    def shows(candidate):
        asked.append(candidate)
        return wanted <= names(candidate)

    options = {"max_tries": 500, "seconds": 600.0} | bounds
    return Search(draft, shows, drafts.to_json, **options), asked


def names(draft):
    return {each.primitive for each in drafts.walk(draft.body)}


@pytest.mark.parametrize("wanted", [{"sin"}, {"cos"}, {"tanh"}, {"reduce_sum"}, {"cos", "exp"}])
def test_what_is_needed_is_left_and_nothing_else(wanted):
    searched, asked = search(wanted)
    assert names(searched.run()) == wanted
    assert len(asked) == searched.tries == len({drafts.to_json(each) for each in asked})


def test_a_loop_that_is_needed_stays_with_what_ends_it():
    searched, _ = search({"scan", "sin"})
    best = searched.run()
    assert {"scan", "sin"} <= names(best)
    assert len(list(drafts.walk(best.body))) <= 4


def test_bounds_are_kept_and_said():
    searched, asked = search({"sin"}, max_tries=3)
    searched.run()
    assert (len(asked), searched.stopped) == (3, "all 3 tries were made")
    searched, asked = search({"sin"}, seconds=-1.0)
    searched.run()
    assert (asked, searched.stopped) == ([], "-1 seconds are over")


def test_what_fails_otherwise_is_another_symptom():
    seen = Symptom("could not compare", "failure", "raises A", "in 3 words", (("legacy", "A"),))
    worded = Symptom("could not compare", "failure", "raises A", "in 4 words", (("legacy", "A"),))
    both = Symptom(
        "could not compare", "failure", "raises A", "", (("legacy", "A"), ("simplified", "A"))
    )
    other = Symptom("could not compare", "failure", "raises B", "", (("legacy", "B"),))
    assert seen.is_like(worded)
    assert not any(seen.is_like(each) for each in (both, other))


@pytest.mark.parametrize(
    ("type_", "stage", "said"),
    [
        ("XlaRuntimeError", "compile", "XlaRuntimeError in compile: no"),
        ("ValueError", "compile", None),
        ("XlaRuntimeError", "call", None),
    ],
)
def test_what_fails_alike_on_both_sides_is_no_difference(type_, stage, said):
    pair = (
        Evidence(failed("step", "jax-legacy", "exception", message="no")),
        Evidence(failed("step", "jax-simplified", "exception", type=type_, stage=stage)),
    )
    seen = Judged(judge([pair], pair), pair)
    if said is None:
        assert symptom_to_keep(Question("step"), seen).metric == "failure"
    else:
        with pytest.raises(ReduceError, match=f"step fails alike on both sides: {said}"):
            symptom_to_keep(Question("step"), seen)


def test_warm_sides_survive_what_programs_do_to_them(faults_file, good_file, tmp_path):
    """A crash and a hang are seen as in a campaign, and what comes next has a new process."""

    def shown(name):
        judged = pair.judge(f"{faults_file}:{name}")
        [found] = [each for each in symptoms(judged.judgement, judged.evidence) if each.fails]
        return found

    with warm_pair("jax-legacy", "jax-simplified", tmp_path, Limits(5.0)) as pair:
        crashed = shown("exits")
        assert "jax-legacy: works; jax-simplified: crash in trace: exit status 7" in crashed.kind
        assert crashed.fails == (("jax-simplified", ""),)
        assert "timeout in trace: TimeLimit" in shown("hangs").kind
        judged = pair.judge(f"{good_file}:good")
        assert judged.judgement.verdict == "parity"
        # What they judge is what the judge of a campaign says of the same evidence.
        assert judged.judgement == judge([judged.evidence], judged.evidence)
        dtypes = pair.judge(f"{faults_file}:other_dtype")
        kinds = {each.metric: each.kind for each in symptoms(dtypes.judgement, dtypes.evidence)}
        assert kinds["output dtypes"] == "different: float32 against bfloat16"
