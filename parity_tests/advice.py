"""What a user is told to do: one table of texts by name, which the judge and the hazards fill in.

A program of its own follows each text that is about a program, in `tests/reported/test_advice.py`,
and is helped. A text that is about something else, as a limit or a second command, is listed there
with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from reports.rows.observation import OF_LIMITS

# Without the lines of a program: reports put programs together that one advice helps.
_INLINED = 'engine.jit(f, constant_policy=lambda constant: "inline")'
WITH_PREAMBLE = 'engine.jit(f, constants="simplified", precompute_constants="auto")'
_IN_BOTH_FORMS = "that works in both forms"

ADVICE: Mapping[str, str] = {
    # -- what a flip costs -------------------------------------------------------------------------
    "compute once": f"{WITH_PREAMBLE} computes them once, in a preamble; or compute them before "
    "the function is traced, and capture the results",
    "computes more": "XLA simplifies by values that it knows: decide by them in Python before "
    "tracing, compute what depends on captured arrays alone once, as "
    f"{WITH_PREAMBLE} does, or keep the array inlined: {_INLINED}",
    "convert before": "convert or move the array before tracing and capture the result (for a "
    "product: batch axes first, contracted axes side by side), or keep it inlined: "
    f"{_INLINED}",
    "inline": f"keep the array inlined: {_INLINED}",
    "tune": "XLA does not know the values of captured arrays any more: constparity tune says which "
    "are better inlined, and by which constant_policy",
    "compile culprit": "constparity culprit --metric compile names the captured arrays that it "
    "takes",
    "judge times": "constparity run --rounds 5 judges them",
    "measure again": "no captured array is hoisted: measure again with more --rounds",
    "pass as argument": "pass the array as an argument of the function, and not as a parameter of "
    "an operation",
    "pass once": "pass the array as an argument of the function, which is one however often it is "
    "used",
    # -- outputs that are not the same bits --------------------------------------------------------
    "folded drift": "accept it; or for the same bits before and after the flip compute what is "
    f"folded before tracing, or keep the array inlined: {_INLINED}",
    "fused drift": f"accept it; or for the same bits keep the array inlined: {_INLINED}",
    "folded beyond": "compute what is folded before tracing, for values that the flip does not "
    f"change, or keep the array inlined for the values of today: {_INLINED}; the program "
    "magnifies a rounding, or XLA folds an operation wrongly, so check which result is right",
    "folded wrong": "nothing for the flip, which puts the values right: today XLA folds them to "
    "wrong ones, by double precision; to be right today as well, compute what is folded before "
    "tracing, or pass the array as an argument",
    "fused beyond": f"keep the array inlined for the values of today: {_INLINED}; the program "
    "magnifies a rounding, so check whether either result is to be relied on",
    "cause not known": "constparity run --attribution-timeout 600 looks longer for the cause; "
    f"until then keep the array inlined for the values of today: {_INLINED}",
    "other arguments": "make the arguments without JAX, as with NumPy, and compare what makes them "
    "as a program of its own",
    "agrees here": "pass {arrays} as arguments, so that both forms are one program, or run it on "
    "more arguments",
    "undecided": "write what is named so that both forms can be compared, or run it on all "
    "arguments that matter",
    "seeded drift": "accept it; or for the same bits {seed}",
    # -- failures and differences ------------------------------------------------------------------
    "culprit": "constparity culprit names the captured arrays that it takes",
    "culprit of failure": "constparity culprit names the captured arrays that it takes; kept "
    f"inlined, they are what they are today: {_INLINED}",
    "read, else culprit": "find out what the read of {what} at {places} decides, else {culprit}",
    "read": "no captured array is hoisted: find out what the read at {places} decides",
    "other read": "no captured array is hoisted: find out what else reads the flag",
    "one program": "pass its captured arrays as arguments, so that both forms are one program; if "
    "it reads the flag, the consts, Literals or text of a jaxpr, or a lowered module, constparity "
    "lint finds where",
    "reads the flag somewhere": "find what reads the flag: both forms are meant to be one program",
    "one mode": "find out first what tells {left} from {right}: constparity run --sides "
    "{left},{right}",
    "fails today": "make the program run before the flip, then compare again",
    "not here": "constparity prove compares both forms without running them; to run it, pass "
    "arrays, on as many devices as its meshes have",
    "between calls": "find out what its Python does between the calls: a captured array that it "
    "writes to or donates needs a copy of its own, made before tracing, jnp.array(a)",
    "own state": "make what it keeps between calls in the factory of the program, which is called "
    "anew for each purpose",
    "on the device": "capture jax.device_put(a), made before the trace",
    "jitted apart": "name the functions that it jits as programs of their own, or make it one that "
    "jax.jit takes",
    "results of arrays": "return the arrays that the value of a hijax type is made of",
    "works after": "nothing for the flip, which does not break it; to compare the two, make the "
    "program run before the flip",
    "broken release": "nothing in the program: {release} fails with its flag; use 0.10.0 or newer",
    "far below": "find out what {side} does in {stage}: {other} needs little",
    **OF_LIMITS,
    "side is away": "find out why the side is not there",
    "wrong side": "let nothing set jax_use_simplified_jaxpr_constants while the program runs: each "
    "side gets it from its environment; in JAX 0.7.0 it hoists nothing, so use 0.10.0 or newer",
    "late setting": "set it before the start, then compare again: {assigned} constparity run "
    "{target}",
    # -- effects -----------------------------------------------------------------------------------
    "how often": "find out what decides how often it is called: that may not depend on the form of "
    "a jaxpr",
    "values of effects": "find out what its arguments are computed from: constparity culprit names "
    "captured arrays if they are outputs as well",
    "pure calls": "accept it, or use jax.experimental.io_callback if each call counts",
    # -- programs that do not repeat themselves ----------------------------------------------------
    "seed argument": "seed what makes the example arguments, as numpy.random.default_rng(0) does",
    "seed captured": "seed what makes the array, as numpy.random.default_rng(0) does",
    "seed trace": "draw random numbers with a seed before tracing; keep the time, and the order of "
    "a set, out of the traced function",
    "seed outputs": "look for callbacks that give other values, threads, and kernels that do not "
    "repeat their bits (on a GPU XLA_FLAGS=--xla_gpu_deterministic_ops=true)",
    "seed failure": "find out when the program fails: it depends on more than its arguments",
    "fresh": "constparity run --fresh gives each program a process of its own",
    # -- captured arrays, by their hazards ---------------------------------------------------------
    "capture a copy": "capture a copy of its own, made before tracing: jnp.array(a), or a.copy() "
    "with flags.writeable = False (jax.device_put(a) may share a's memory)",
    "donated": "capture a copy made before tracing, jnp.array(a), or do not donate that argument",
    "same devices": "before tracing put the array where the arguments are, jax.device_put(a, "
    "device), or pass NumPy",
    "not committed": "capture an array that is not committed, jnp.asarray(np.asarray(a)), or "
    "commit the arguments to the same device",
    "same mesh": "put the arguments on the devices of the array, jax.device_put(x, "
    "NamedSharding(mesh, PartitionSpec())), and state the sharding of the outputs: jax.jit(..., "
    "out_shardings=...)",
    "sharded outputs": "state the sharding of the outputs: jax.jit(..., out_shardings=...)",
    # -- reads of jaxprs, the flag, and modules ----------------------------------------------------
    "evaluate": "evaluate with jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *args) or "
    "jax.extend.core.jaxpr_as_fun(closed), and find captured arrays in the Literals of eqn.invars "
    f"and jaxpr.outvars as well: {_IN_BOTH_FORMS}",
    "invars": "pair the invars of a body with the operands of its own equation, and number them by "
    f"len(jaxpr.invars) and not by a fixed place: {_IN_BOTH_FORMS}",
    "outvars": "take the value of an output from Literal.val where it is a Literal",
    "operands": "take the value of an operand from Literal.val where it is a Literal, convert it "
    "as that of a constvar, for it may be any jax.Array, and decide nothing by the number of "
    f"operands: {_IN_BOTH_FORMS}",
    "params": "split the operands of each equation by its own counts, as num_consts, and look for "
    f"captured arrays in Literals as well: {_IN_BOTH_FORMS}",
    "equations": "decide nothing by the number of equations: captured arrays may need more of them "
    "in one form",
    "text": "decide nothing by the text of a jaxpr, which is for people; read its equations, and "
    "Literals as well as constvars",
    "module": "call the compiled stage, which passes captured arrays by itself, and count captured "
    f"arrays among constants and arguments alike: {_IN_BOTH_FORMS}",
    "flag": "do not read the flag: write code that works in both forms, or take an option of your "
    "own",
    "environment": "leave {variable} out of the copy, or out of the environment of the process "
    "that is started, and decide nothing by it; likewise in a copy of jax.config.values",
    "nothing": "nothing",
    "not the cause": "nothing: it is not the cause, which stands above",
}


def advice(name: str, **fields: str) -> str:
    """Return the text of a name, its fields filled in. Raises `KeyError` for another name or field.

    Example::

        >>> advice("one mode", left="legacy", right="jax-legacy")[:46]
        'find out first what tells legacy from jax-lega'
    """
    return ADVICE[name].format_map(fields)
