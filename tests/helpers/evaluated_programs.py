"""Evaluate generated programs in the form of this process, and say what came out, line by line.

Run as `python evaluated_programs.py FILE SIDE NAME...`: FILE has the programs. Each line is the
JSON of an `Outcome`. The reference interpreter may end the process.
"""

import hashlib
import sys

import jax
import numpy as np
from pydantic import Field

from parity_tests import targets
from parity_tests.evidence.distances import is_floating
from parity_tests.exception_texts import named
from parity_tests.observe import numbers, reference, stages
from parity_tests.proof.evaluation import NotEvaluatedError
from reports.rows import Numbers
from reports.rows.row import Row

# XLA fuses and reorders, a chain of some dozen operations and derivatives of it.
TOLERANCE = {1: 0.3, 2: 0.05, 4: 1e-3, 8: 1e-3}  # by the bytes of an element


class Outcome(Row):
    """What became of a program: `results` has a digest for each input and each result.

    `far` names a result of the jitted function that is far from that of the interpreter.
    """

    name: str
    failure: str = ""
    numbers: Numbers | None = None
    results: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    not_evaluated: str = ""
    far: str = ""


def outcome(program, side):
    """Trace, lower, number, evaluate and call a program."""
    clock = stages.StageClock(lambda name: None)
    try:
        lowered = stages.lower(stages.trace(stages.build(program, side, clock), None))
        called = jax.tree.leaves(lowered.built.ready()())
    except Exception as error:  # noqa: BLE001 (stock JAX refuses some programs)
        return Outcome(name=program.name, failure=named(error))
    found = numbers.with_modules(numbers.numbers_of(lowered), lowered)
    results, reason, far = {}, "", ""
    try:
        evaluator = reference.evaluator_of(lowered)
        for given in reference.inputs_of(lowered):
            made = reference.results(lowered, evaluator, given)
            results[given.name] = tuple(digest(each.array) for each in made)
            if given.name == reference.OWN:
                pairs = zip(made, called, strict=True)
                far = next(
                    (one.path or "its result" for one, two in pairs if is_far(one.array, two)), ""
                )
    except NotEvaluatedError as error:
        reason = str(error)
    return Outcome(name=program.name, numbers=found, results=results, not_evaluated=reason, far=far)


def digest(array):
    return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + array.tobytes()).hexdigest()[:16]


def is_far(evaluated, called):
    if jax.dtypes.issubdtype(called.dtype, jax.dtypes.prng_key):
        called = jax.random.key_data(called)
    called = np.asarray(called)
    if not is_floating(called.dtype):
        return not np.array_equal(evaluated, called)
    tolerance = TOLERANCE[called.real.dtype.itemsize]
    one, two = (each.astype("complex128") for each in (evaluated, called))
    return not np.allclose(one, two, rtol=tolerance, atol=tolerance, equal_nan=True)


if __name__ == "__main__":
    file, side, *names = sys.argv[1:]
    for name in names:
        sys.stdout.write(outcome(targets.load_one(f"{file}:{name}"), side).model_dump_json() + "\n")
        sys.stdout.flush()
