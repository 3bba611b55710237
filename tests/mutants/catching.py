"""Runs the mutants: measures each on its program, judges it, and records which metric named it.

Stock JAX is measured in processes of its own, our sides in this one. Without a mutant every program
has to be at parity, or a verdict would prove nothing.
"""

import dataclasses
import tempfile
from pathlib import Path

import mutant_programs
import of_calls
import of_constants
import of_effects
import of_functions
import of_work
from planting import MUTANTS, Mutant

from parity_tests import targets
from parity_tests.evidence.records import Evidence
from parity_tests.judge.proofs import claims_of
from parity_tests.judge.sides import pairs_of
from parity_tests.judge.verdict import Judgement, judge
from parity_tests.observe import measure
from parity_tests.processes import side_runs
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from reports.rows.check_names import EXPORT
from reports.rows.claims import answer_of

FILE = Path(mutant_programs.__file__)
# Why mutants are proved although they are faults: they act after lowering, or write one computation
# in another way. Everything else must not be proved. By the metric that names a mutant.
IN_CALLS = "acts when it is called"
WRITTEN_OTHERWISE = "one computation, written otherwise"
MAY_BE_PROVED = {
    "flag flips": IN_CALLS,
    "settings left alone": IN_CALLS,
    "calls agree": IN_CALLS,
    "calls leave nothing": IN_CALLS,
    "dispatch in C++": IN_CALLS,
    "recompiles": IN_CALLS,
    "const arg buffers": IN_CALLS,
    "output committed": IN_CALLS,
    "output shardings": IN_CALLS,
    "output weak types": IN_CALLS,
    "writes into captured arrays": IN_CALLS,
    "export, read back": "acts when it is exported",
    "captured arrays": WRITTEN_OTHERWISE,
    "arrays that stay inlined": WRITTEN_OTHERWISE,
    "printed jaxpr": WRITTEN_OTHERWISE,
    "order of main's arguments": WRITTEN_OTHERWISE,
    "marks lost": WRITTEN_OTHERWISE,
    "working StableHLO operations": WRITTEN_OTHERWISE,
}
# Each adds its mutants when it is imported.
MODULES = (of_constants, of_functions, of_calls, of_effects, of_work)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The verdict on a mutant, the reasons for it by metric, and what its numbers say.

    `proof` compares the side with the mutant to the side without it; "" where it has no numbers.
    """

    mutant: Mutant
    verdict: str
    named: dict[str, str]
    proof: str

    @property
    def caught(self):
        """Whether the right metric named the mutant."""
        reason = self.named.get(self.mutant.metric)
        return self.verdict != "parity" and reason is not None and self.mutant.says in reason

    @property
    def may_be_proved(self):
        """Why the mutant may be proved; "" where it must not be."""
        if self.mutant.name == "program run twice":
            return IN_CALLS
        return MAY_BE_PROVED.get(self.mutant.metric, "")


def run():
    """Return the verdicts of the programs without mutants, by name, and the outcomes."""
    programs = {name: _load(name) for name in dict.fromkeys(m.program for m in MUTANTS.values())}
    evidence = _of_stock(list(programs))
    for name, program in programs.items():
        for side in ("legacy", "simplified"):
            evidence[name][side] = _measure(program, side)
    controls = {name: _judge(seen) for name, seen in evidence.items()}
    outcomes = []
    for mutant in MUTANTS.values():
        with mutant.plant():
            mutated = _measure(_load(mutant.program), mutant.side)
        judgement = _judge({**evidence[mutant.program], mutant.side: mutated})
        sound = evidence[mutant.program][mutant.side].observation
        proof = _proof(sound, mutated.observation)
        outcomes.append(Outcome(mutant, judgement.verdict, _named(judgement, mutated), proof))
    return controls, outcomes


def _load(name):
    return targets.load_one(f"{FILE}:{name}")


def _measure(program, side):
    exported = any(m.metric == EXPORT and m.program == program.name for m in MUTANTS.values())
    measured = measure.measure(program, side, reload=exported)
    return Evidence(measured.observation, measured.values, measured.jaxpr)


def _of_stock(names):
    jobs = [Job(number=n, name=name, target=f"{FILE}:{name}") for n, name in enumerate(names)]
    with tempfile.TemporaryDirectory() as folder:
        both = ("jax-legacy", "jax-simplified")
        options = RunOptions(timeout=60.0, steady_calls=0)
        recorded = side_runs.run_sides(jobs, both, Path(folder), options)
        return {
            name: {side: recorded[number, side].evidence() for side in both}
            for number, name in enumerate(names)
        }


def _proof(sound, mutated):
    claims = claims_of(sound, mutated)
    return answer_of(claims) if claims else ""


def _judge(evidence) -> Judgement:
    pairs = [(evidence[left], evidence[right]) for left, right in pairs_of(evidence)]
    return judge(pairs, list(evidence.values()))


def _named(judgement, mutated):
    named = {}
    for each in judgement.comparisons:
        if each.outcome == "different":
            values = f"{each.left_value} against {each.right_value}"
            named.setdefault(each.metric, f"{each.left} and {each.right}: {values}; {each.detail}")
    if (failure := mutated.observation.failure) is not None:
        kind = "proof of the side" if failure.kind == "wrong side" else failure.kind
        named[kind] = f"{failure.type} in {failure.stage}: {failure.message}"
    return named
