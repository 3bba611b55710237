"""Mutants of the work of a call: equations that are lowered more often than they were traced."""

from planting import PIPELINES, attribute, mutant, step

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, Var
from simplified_consts.hoisting.closure_conversion import Conversion


def _computed_for_each_use(jaxpr: Jaxpr) -> Jaxpr:
    """Return a jaxpr in which each use of a result has an equation of its own to compute it."""
    makers = {eqn.outvars[0]: eqn for eqn in jaxpr.eqns if len(eqn.outvars) == 1}
    eqns = []

    def again(atom):
        if not isinstance(atom, Var) or atom not in makers or makers[atom].effects:
            return atom
        copy = jax_internals.new_var(atom.aval)
        eqns.append(makers[atom].replace(outvars=[copy]))
        return copy

    for eqn in jaxpr.eqns:
        invars = [again(atom) for atom in eqn.invars]
        eqns.append(eqn.replace(invars=invars))
    return jaxpr.replace(eqns=eqns)


@mutant(
    "a result that is used several times is computed for each use",
    program="used_four_times",
    side="simplified",
    metric="working StableHLO operations",
    says="ours computes more than stock JAX",
)
def results_computed_for_each_use():
    stock = PIPELINES["simplified"].PIPELINE.plan

    def plan(closed, *rest):
        return stock(ClosedJaxpr(_computed_for_each_use(closed.jaxpr), closed.consts), *rest)

    with step("simplified", plan=plan):
        yield


@mutant(
    "a body computes a result for each use when it gets its constants as operands",
    program="used_four_times_in_a_scan",
    side="simplified",
    metric="working StableHLO operations",
    says="ours computes more than stock JAX",
)
def results_in_a_body_computed_for_each_use():
    stock = Conversion.body

    def body(self, one, constants):
        done = stock(self, one, constants)
        return ClosedJaxpr(_computed_for_each_use(done.jaxpr), done.consts)

    with attribute(Conversion, "body", body):
        yield
