"""`lift` and `sink` on the built-in corpus and on generated programs: each undoes the other."""

import re

import pytest
from generated_programs import SEEDS, for_all_programs
from jax._src import core  # noqa: TID251 - its check of programs

import engine
from engine.ir import closures
from legacy_closedjaxpr.tracing import normalize as lift
from parity_tests import targets
from parity_tests.fuzz import rendering
from parity_tests.program import Program
from simplified_consts.tracing import normalize as sink

CORPUS = {p.name: p for p in targets.load(()) if isinstance(p, Program)}


def printed(closed_jaxpr):
    """Print a program without addresses, and without the trees that count a scan's operands.

    Since jax 0.11.0 these trees are nested as the transformations were that made the scan.
    """
    return re.sub(r"0x[0-9a-f]+|ft_in=.*", "", str(closed_jaxpr))


def of_corpus(name, side):
    own = CORPUS[name].build_with_jit()
    args, kwargs = own.dynamic
    return engine.jit(own.bound, constants=side).trace(*args, **kwargs).jaxpr


def check(legacy, simplified):
    """Check the laws of both passes on a program in both forms, as JAX's tracer emits them."""
    assert lift(legacy) is legacy
    assert sink(simplified) is simplified
    lifted, sunk = lift(simplified), sink(legacy)
    assert lift(lifted) is lifted
    assert sink(sunk) is sunk
    assert printed(lift(sunk)) == printed(legacy)
    assert printed(sink(lifted)) == printed(simplified)
    # Both are programs that JAX takes for valid: every variable is bound, every type fits.
    for closed_jaxpr in (lifted, sunk):
        core.check_jaxpr(closed_jaxpr.jaxpr)


@pytest.mark.parametrize("name", CORPUS)
def test_each_undoes_the_other(name):
    check(of_corpus(name, "legacy"), of_corpus(name, "simplified"))


@pytest.mark.parametrize("of_seed", SEEDS)
def test_each_undoes_the_other_on_generated_programs(of_seed):
    def run(recipe):
        namespace = {}
        exec(rendering.module({"program": recipe}), namespace)
        fun, args = namespace["program"]()
        try:
            forms = [engine.make_jaxpr(fun, constants=side)(*args) for side in engine.SIDES]
        except (NotImplementedError, TypeError, ValueError):
            return  # JAX cannot differentiate or batch it
        check(*forms)

    for_all_programs(run, 2000 + of_seed, examples=8)


def test_a_body_in_the_wrong_order_is_caught(monkeypatch):
    """The planted fault: `sink` forgets in which order a body had its arrays."""
    monkeypatch.setattr("simplified_consts.tracing.remember_order", lambda *_: None)
    with pytest.raises(AssertionError, match=r"lambda"):
        check(of_corpus("batched_while", "legacy"), of_corpus("batched_while", "simplified"))


def test_an_operand_of_the_user_taken_for_a_closure_is_caught(monkeypatch):
    """The planted fault: nobody tells a closed-over array from an array that is passed."""
    monkeypatch.setattr("simplified_consts.tracing.names_of", lambda _: None)
    with pytest.raises(AssertionError, match=r"lambda"):
        check(of_corpus("grad_of_scan", "legacy"), of_corpus("grad_of_scan", "simplified"))


def test_closures_of_an_equation_can_be_made_anew():
    """Each rule gives back the equation it was given, where its closures stay as they are."""
    seen = set()
    for name in CORPUS:
        for body in engine.ir.jaxprs.bodies_in(of_corpus(name, "legacy")):
            for eqn in body.eqns:
                found = closures.closures_of(eqn)
                if found is None:
                    continue
                seen.add(eqn.primitive.name)
                invars, params = found.rebuilt(
                    [
                        (
                            group.bodies,
                            [closures.Operand(a, i) for i, a in enumerate(group.operands)],
                        )
                        for group in found.groups
                    ]
                )
                assert list(invars) == list(eqn.invars)
                assert {**eqn.params, **params} == eqn.params
    assert seen >= {"scan", "while", "cond", "jit", "custom_jvp_call", "custom_linear_solve"}
