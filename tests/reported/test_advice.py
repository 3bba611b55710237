"""Advice that is followed helps: each text of the table has a program that shows it on stock JAX.

`reported_NAME` is given the advice of that name, `followed_NAME` is not any more. What the engine
does about it is run in this process; what is no advice about a program says why.
"""

import ast
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from program_files import program_file

import engine
import parity_tests
from parity_tests.advice import ADVICE, advice
from parity_tests.cli.commands import command_named
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

STOCK = ("jax-legacy", "jax-simplified")
FILE = program_file("reported/advice")

# Names commands and options of constparity, which `test_commands_and_options_exist` looks up.
COMMANDS = {
    "judge times", "measure again", "tune", "compile culprit", "culprit", "culprit of failure",
    "read, else culprit", "one mode", "fresh", "timeout", "memory", "late setting",
    "cause not known", "not here", "one program",
}  # fmt: skip
# Says what to look for, since nobody knows what decides: nothing of the program can be changed yet.
SEARCHES = {
    "read", "other read", "reads the flag somewhere", "far below", "side is away",
    "how often", "values of effects", "seed failure",
}  # fmt: skip
# Helps where it makes a program repeat itself, so it is tested by plain JAX, twice.
SEEDS = {"seed argument", "seed captured", "seed trace", "seed outputs", "seeded drift"}
# Keeps an array inlined, which the engine alone can: tested in this process.
INLINES = {"inline", "folded drift", "folded beyond", "fused beyond"}
# Keeps nothing of today, where NumPy computes what comes after the flip: tested by plain JAX.
RIGHT = {"folded wrong"}
OTHERWISE = {
    "works after": "the flip breaks nothing",
    "jitted apart": "`test_own_jits.py` holds when it is said; its first half is a program's name",
    "results of arrays": "`test_measure.py` holds what it is about: a limit of JAX",
    "fails today": "the program has to work before anything is said of it",
    "broken release": "another release of JAX",
    "wrong side": "the environment of the process",
    "pure calls": "JAX promises no number of calls of a pure function",
    "own state": "constparity's own way of calling",
    "nothing": "nothing is to be done",
    "not the cause": "nothing is to be done",
}


@pytest.fixture(scope="module")
def rows():
    options = CampaignOptions(sides=STOCK, timeout=60.0, steady_calls=0, attribute=False)
    campaign = run.run([str(FILE)], options)
    return {row.name: row for row in campaign.programs}


def pattern(name):
    """A regular expression for the text of a name with any fields."""
    return re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(ADVICE[name])))


def given(row, name):
    """The outcomes of the reasons that have the advice."""
    return [each.outcome for each in row.flip.reasons if pattern(name).fullmatch(each.action)]


def pairs():
    """The names of the advice that the file has programs for, and the ends of their names."""
    ends = re.findall(r'^pair\(\s*"(\w+)"', FILE.read_text(), re.MULTILINE)
    return [(re.sub(r"_\d+$", "", end).replace("_", " "), end) for end in ends]


@pytest.mark.parametrize(("name", "end"), pairs())
def test_who_is_given_the_advice_and_follows_it_is_helped(rows, name, end):
    reported, followed = rows[f"reported_{end}"], rows[f"followed_{end}"]
    told = given(reported, name)
    assert told, [each.action for each in reported.flip.reasons]
    # A read is listed as long as it is there, and does no harm.
    worse = [each for each in given(followed, name) if name != "module" or each != "safe"]
    assert (worse, followed.flip.outcome) == ([], "safe")


def test_each_advice_is_tested_in_one_way():
    ways = [
        {name for name, _ in pairs()},
        COMMANDS,
        SEARCHES,
        SEEDS,
        INLINES,
        RIGHT,
        set(OTHERWISE),
    ]
    assert sorted(name for way in ways for name in way) == sorted(ADVICE)


def test_each_advice_is_given_somewhere_and_no_other():
    """Names that are put together, or chosen, stand as strings beside the call."""
    folder = Path(parity_tests.__file__).parent
    files = [each for each in folder.rglob("*.py") if "advice" in each.read_text()]
    trees = [ast.parse(each.read_text()) for each in files if each.name != "advice.py"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    strings = {each.value for each in nodes if isinstance(each, ast.Constant)}
    built = {f"seed {kind}" for kind in ("argument", "captured", "trace", "outputs", "failure")}
    assert set(ADVICE) - strings - built - {"timeout", "memory"} == set()


# -- advice that is not about one program ----------------------------------------------------------


@pytest.mark.parametrize("name", sorted(COMMANDS - {"timeout", "memory", "late setting"}))
def test_commands_and_options_exist(name):
    text = ADVICE[name].replace("{culprit}", ADVICE["culprit"])
    options = {
        option
        for command in re.findall(r"constparity (\w+)", text) or ["run"]
        for parameter in command_named(command).params
        for option in parameter.opts
    }
    assert set(re.findall(r"--[\w-]+", text)) <= options


@pytest.mark.parametrize("name", ["timeout", "memory"])
def test_limits_can_be_raised(name):
    options = {option for each in command_named("run").params for option in each.opts}
    assert set(re.findall(r"--[\w-]+", ADVICE[name])) <= options


@pytest.mark.parametrize("name", sorted(SEARCHES))
def test_a_search_says_what_to_find(name):
    assert re.search(r"\bfind\b", ADVICE[name])


# -- what the engine does --------------------------------------------------------------------------

ROUGH = jnp.asarray(np.random.default_rng(0).normal(size=(64, 64)), jnp.float32)
NARROW = jnp.asarray(ROUGH, jnp.bfloat16)
MASK = np.ones((64, 64), bool)
X = jnp.linspace(0.1, 1.0, 64)


def drifts(x):
    return jnp.tanh(ROUGH).sum(axis=0) @ x


def widens(x):
    return NARROW @ x


def chooses(x):
    return jnp.where(MASK, x, jnp.tanh(x[:, None] @ x[None])).sum()


def compiled(function, **options):
    return engine.jit(function, **options).lower(X).compile()


def as_advised():
    """The policy that the table has, as its text."""
    found = re.search(r"engine\.jit\(f, constant_policy=(.*)\)$", ADVICE["inline"])
    return eval(found[1])


@pytest.mark.parametrize("function", [drifts, widens, chooses])
def test_an_array_that_is_kept_inlined_is_what_it_is_today(function):
    inlined = compiled(function, constants="simplified", constant_policy=as_advised())
    legacy, hoisted = (compiled(function, constants=c) for c in ("legacy", "simplified"))
    assert np.asarray(inlined(X)).tobytes() == np.asarray(legacy(X)).tobytes()

    def costs(each):
        memory = each.memory_analysis()
        return (
            each.cost_analysis()["flops"],
            memory.temp_size_in_bytes,
            memory.argument_size_in_bytes,
        )

    assert costs(inlined) == costs(legacy) != costs(hoisted)


SIGNED = np.asarray([-4, -1, 1, 3], np.float32)
EXPONENTS = jnp.float8_e8m0fnu  # a dtype without a sign: NaN is right for a negative number


def test_what_xla_folds_wrongly_is_right_before_tracing_or_as_an_argument():
    """XLA's folding drops the sign, on the CPU; its program does not, and NumPy does not."""
    captured, before = jnp.asarray(SIGNED), jnp.asarray(SIGNED).astype(EXPONENTS)
    right = SIGNED.astype(EXPONENTS).tobytes()
    assert jax.jit(lambda: captured.astype(EXPONENTS))().tobytes() != right
    assert jax.jit(lambda: before)().tobytes() == right
    assert jax.jit(lambda array: array.astype(EXPONENTS))(captured).tobytes() == right


# As const args XLA's CPU compiler aborts on the first, and a guard forbids to transfer the second.
PACKED = jnp.asarray(np.arange(45).reshape(5, 9) % 2).astype(jnp.int2)
OFFSETS = np.arange(64.0, dtype=np.float32)


@pytest.mark.parametrize(
    "function", [lambda x: jnp.concatenate([PACKED, PACKED]), lambda x: x + OFFSETS]
)
def test_what_fails_newly_works_where_its_arrays_are_kept_inlined(function):
    jitted = engine.jit(function, constants="simplified", constant_policy=as_advised())
    with jax.transfer_guard_host_to_device("disallow"):
        assert jitted(X).tobytes() == jax.jit(function)(X).tobytes()


def test_a_preamble_computes_once_what_legacy_folds():
    [advised] = re.findall(r"engine\.jit\(f, (.*?)\)", ADVICE["compute once"])
    options = eval(f"dict({advised})")

    def folded(x):
        return jnp.cumsum(ROUGH @ ROUGH @ ROUGH, axis=0) @ x

    hoisted, once, legacy = (
        compiled(folded, **each).cost_analysis()["flops"]
        for each in (
            {"constants": "simplified"},
            options,
            {"constants": "legacy"},
        )
    )
    assert once == legacy < hoisted
    assert engine.jit(folded, **options).lower(X).const_args  # legacy has none: XLA folds there


# -- programs that do not repeat themselves --------------------------------------------------------


def test_a_seed_makes_a_program_repeat_itself():
    """Each thing that changed, as `numpy.random` makes it without a seed, and with one."""

    def two(seed):
        return [np.random.default_rng(seed).random(4, np.float32) for _ in range(2)]

    def repeats(seed):
        def traced(noise):
            return str(jax.make_jaxpr(lambda x: x * float(noise[0]))(1.0))

        first, second = two(seed)
        return (first == second).all(), traced(first) == traced(second)

    assert repeats(0) == (True, True)
    assert repeats(None) == (False, False)


def test_another_name_or_field_is_an_error():
    with pytest.raises(KeyError):
        advice("raise the roof")
    with pytest.raises(KeyError):
        advice("one mode")
