"""Programs of the corpus with one thing changed: where the digest stays, the results stay.

A param that is left out and counts, or a law that does not hold, would prove two programs to be
one. CONSTPARITY_TEST_MUTATED=100 changes as many tokens of each module of the corpus (`make deep`).
"""

import functools
import os
import random
import re
import signal
from collections import Counter

import jax
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun
from jax.extend.mlir import ir

import engine
from parity_tests import targets
from parity_tests.jax_internals import const_args, kept_arguments
from parity_tests.proof.evaluation import Evaluator, NotEvaluatedError
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import UndecidedError
from tests.helpers.mutated_jaxprs import mutants
from tests.helpers.mutated_modules import mutant

CONTROL, DERIVATIVES = "parity_tests.corpus.control_flow", "parity_tests.corpus.derivatives"
SOME = (
    f"{CONTROL}:batched_while",
    f"{CONTROL}:cond_both_branches_share",
    f"{CONTROL}:scan_with_interpolation_table",
    f"{DERIVATIVES}:grad_of_scan",
    f"{DERIVATIVES}:grad_of_cond",
)
SPECIAL = (0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e5)


def results(closed, args):
    made = jaxpr_as_fun(closed)(*args)
    return [bits(jax.random.key_data(each) if is_key(each) else each) for each in made]


def is_key(array):
    return jax.dtypes.issubdtype(jax.dtypes.result_type(array), jax.dtypes.prng_key)


def bits(array):
    """NaN of any payload is one: of two that are added, the first one's stays."""
    array = np.asarray(array)
    return array.dtype, np.where(array != array, array.dtype.type(0), array).tobytes(), array.shape


def drawn_arguments(closed, seed, *, special):
    """Arguments of a program: normal ones, or zeros, infinities and NaN."""
    drawn = np.random.default_rng(seed)
    for aval in closed.in_avals:
        if is_key(aval):
            yield jax.random.split(jax.random.key(seed), aval.shape)
        else:
            yield jax.numpy.asarray(drawn_array(drawn, aval.shape, aval.dtype, special=special))


@pytest.mark.parametrize("target", SOME)
def test_a_mutant_of_one_digest_gives_the_same_results(target):
    counted = Counter()
    fun, args, kwargs = targets.load_one(target).build()
    closed, drawn = jax.jit(fun).trace(*args, **kwargs).jaxpr, random.Random(target)
    both = [list(drawn_arguments(closed, seed, special=seed == 2)) for seed in (1, 2)]
    own = number_jaxpr(closed).digest, [results(closed, each) for each in both]
    made = [*mutants(closed, drawn)]
    drawn.shuffle(made)
    for what, make in two_of_each_kind(made):
        counted[outcome(make, own, both, what)] += 1
    assert counted["parted"] > counted.total() / 2, counted


def two_of_each_kind(made):
    """Two mutants of each change of a primitive, in whichever body."""
    seen = Counter()
    for what, make in made:
        kind = re.sub(r"\W*\d+", "", what.rpartition("(")[2])
        seen[kind] += 1
        if seen[kind] <= 2:
            yield what, make


def outcome(make, own, arguments, what):
    digest, expected = own
    try:
        mutant = make()
        if number_jaxpr(mutant).digest != digest:
            return "parted"
        found = [results(mutant, each) for each in arguments]
    except UndecidedError:
        return "undecided"
    except Exception:  # noqa: BLE001 (types need not fit, and errors of JAX's may be any)
        return "no program"
    assert found == expected, f"{what}: other results, one digest"
    return "agree"


# -- modules ---------------------------------------------------------------------------------------

TOKENS = int(os.environ.get("CONSTPARITY_TEST_MUTATED", "0"))
LONGEST = 60_000  # characters of a module


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_a_module_with_one_token_changed_has_another_digest_or_the_same_results(side):
    """The reference interpreter says what a module computes."""
    counted, drawn = Counter(), random.Random(side)
    for program in targets.load([] if TOKENS else SOME):
        fun, args, kwargs = program.build()
        lowered = engine.jit(fun, constants=side).lower(*args, **kwargs)
        leaves = jax.tree.leaves((args, kwargs))
        own = [leaves[n] for n in kept_arguments(lowered)]
        counted.update(outcomes_of_module(lowered, own, drawn, TOKENS or 100))
    assert counted["parted"] > counted["agree"] > 0, counted


def outcomes_of_module(lowered, arguments, drawn, tokens):
    module, constants = lowered.compiler_ir(), const_args(lowered)
    text = module.operation.get_asm(enable_debug_info=False)
    if len(text) > LONGEST:
        return
    try:
        own = number_module(module, constants).digest
        evaluator = Evaluator.of(module)
    except (UndecidedError, NotEvaluatedError):
        return
    # A loop may not end for others than the program's own arguments.
    kinds = ("own",) if "stablehlo.while" in text else ("own", "normal", "special")
    given = [[*passed(evaluator, constants, arguments, kind)] for kind in kinds]
    expected = functools.cache(lambda: evaluated(evaluator, given))
    for changed, what in filter(None, (mutant(text, drawn) for _ in range(tokens))):
        try:
            with module.context:
                other = ir.Module.parse(changed)
            if number_module(other, constants).digest != own:
                yield "parted"
                continue
            found = evaluated(Evaluator.of(other), given)
            assert found == expected(), f"{what}: other results, one digest"
            yield "agree"
        except ir.MLIRError:
            yield "no module"
        except (UndecidedError, NotEvaluatedError):
            yield "undecided"


def evaluated(evaluator, given):
    """Evaluate, and end this process where a loop that a fault has proved does not end."""
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        return [[*map(bits, evaluator.results(each))] for each in given]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def passed(evaluator, constants, arguments, kind):
    """Arguments of a module: const args where it takes these, and its own or drawn arrays."""
    drawn, left, own = np.random.default_rng(1), iter(constants), iter(arguments)
    for marks, type_ in zip(evaluator.marks, evaluator.takes, strict=True):
        if "jax.const" in marks or kind == "own":
            array = next(left if "jax.const" in marks else own)
            array = jax.random.key_data(array) if is_key(array) else array
            yield np.asarray(array, type_.dtype)
        else:
            yield drawn_array(drawn, type_.shape, type_.dtype, special=kind == "special")


def drawn_array(drawn, shape, dtype, *, special):
    if np.dtype(dtype).kind in "biu":
        return np.asarray(drawn.integers(0, 5, shape)).astype(dtype)
    made = drawn.choice(SPECIAL, shape) if special else drawn.normal(size=shape)
    return np.asarray(made).astype(dtype)
