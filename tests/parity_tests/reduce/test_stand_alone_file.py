"""A program that is read and written again computes the same bits, whatever is in it."""

import importlib.util
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import primitives

from parity_tests import targets
from parity_tests.program import from_function
from parity_tests.reduce import draft as drafts
from parity_tests.reduce import edits, jaxpr_to_draft
from parity_tests.reduce.pruning import cleaned
from parity_tests.reduce.stand_alone_file import CannotWriteError, write

TABLE = jnp.arange(40.0)
NUMPY = np.linspace(-1, 1, 40, dtype=np.float32)
X = np.float32(2.0)


@jax.custom_jvp
def with_jvp(x):
    return jnp.sin(x) * TABLE


with_jvp.defjvp(lambda primals, tangents: (primals[0], tangents[0]))


@jax.custom_vjp
def with_vjp(x):
    return jnp.cos(x) * TABLE


with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda residual, g: (g,))


def evaluated(x):
    """Bind a jaxpr as an equation, whose primitive has another name from jax 0.11.1 on."""
    call = primitives.closed_call_p
    params = {"call_jaxpr": jax.make_jaxpr(lambda v: v * TABLE)(x)}
    return call.bind(x, **call.get_bind_params(params))


PROGRAMS = {
    "scan": lambda x: lax.scan(lambda c, t: (c * TABLE + t, c.sum()), x * NUMPY, jnp.arange(3.0)),
    "reversed scan without xs": lambda x: lax.scan(
        lambda c, _: (c + TABLE, c), x * NUMPY, None, length=3, reverse=True, unroll=2
    ),
    "cond": lambda x: lax.cond(x > 0, lambda v: v * TABLE, lambda v: v - NUMPY, x),
    "switch": lambda x: lax.switch(
        jnp.int32(x), [lambda: TABLE, lambda: TABLE * 2, lambda: TABLE - NUMPY]
    ),
    "while": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * TABLE), (0, x * TABLE)
    ),
    "jit and checkpoint": lambda x: jax.checkpoint(jax.jit(lambda v: v * TABLE))(x),
    "jaxpr that is evaluated": lambda x: evaluated(x),
    "custom derivatives": lambda x: with_jvp(with_vjp(x)),
    "derivative": jax.grad(lambda x: jnp.tanh(x * TABLE).sum()),
    "scatter and gather": lambda x: TABLE.at[jnp.array([1, 2])].add(x)[jnp.array([2, 39])],
    "linear solve": lambda x: jnp.linalg.solve(jnp.eye(3) * x, jnp.ones(3)),
    "typed keys": lambda x: jax.random.normal(jax.random.key(3), (3,)) * x,
    "captured keys": lambda x: jax.random.split(jax.random.key(0, impl="rbg"), 3),
    "bfloat16": lambda x: (x * TABLE).astype(jnp.bfloat16) * 2.0,
    "special numbers": lambda x: jnp.where(x > 0, jnp.inf, x) * jnp.array([np.nan, -0.0, 1.0]),
    "enums and dimension numbers": lambda x: lax.conv(
        x * jnp.ones((1, 1, 5, 5)), jnp.ones((1, 1, 2, 2)), (1, 1), "SAME"
    ),
    "many results": lambda x: jnp.linalg.eigh(jnp.eye(3) * x),
    "sort, fft, cumsum": lambda x: jnp.cumsum(jnp.abs(jnp.fft.fft(jnp.sort(x * NUMPY)))),
    "returned as it is": lambda x: (TABLE, x, 3.0),
    "raw keys": lambda x: jax.random.split(jax.random.PRNGKey(3)) + jnp.uint32(x),
    "stacked": lambda x: jnp.unstack(jnp.stack([x * TABLE, TABLE])),
    "pieces": lambda x: jnp.split(x * TABLE, [3, 9]),
    "put on no device in particular": lambda x: jax.device_put((x * TABLE, x)),
    "no elements": lambda x: (np.zeros((0, 3), np.float32) * x, TABLE[:0] * x),
    "derivative of a checkpoint": jax.grad(
        lambda x: jax.checkpoint(lambda v: jnp.tanh(jnp.sin(v * TABLE) * v))(x).sum()
    ),
}


def written(fun, tmp_path, change=cleaned):
    found = jaxpr_to_draft.read(from_function(lambda: (fun, (X,)), "test"))
    file = tmp_path / "program.py"
    shows = {"metric": "outputs", "fails": {}, "tolerances": {}, "seconds": 1.0}
    sides = ("jax-legacy", "jax-simplified")
    text = write(change(found.draft), found.store, header="It\\'s", sides=sides, shows=shows)
    text.save(file)
    spec = importlib.util.spec_from_file_location("written_program", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, found.draft


def bits(result):
    leaves = jax.tree.leaves(result)
    is_key = [jax.dtypes.issubdtype(getattr(x, "dtype", None), jax.dtypes.prng_key) for x in leaves]
    hosts = [jax.random.key_data(x) if k else x for x, k in zip(leaves, is_key, strict=True)]
    return [(str(np.asarray(x).dtype), np.shape(x), np.asarray(x).tobytes()) for x in hosts]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_come_back(name, tmp_path):
    module, _ = written(PROGRAMS[name], tmp_path)
    fun, args = module.program()
    assert bits(jax.jit(fun)(*args)) == bits(jax.jit(PROGRAMS[name])(X))


def test_arrays_that_are_larger_lie_beside_it(tmp_path):
    numbers = np.random.default_rng(0).normal(size=100).astype(np.float32)
    module, _ = written(lambda x: x * numbers, tmp_path)
    assert (tmp_path / "program.npz").exists()
    fun, args = module.program()
    assert bits(fun(*args)) == bits(X * jnp.asarray(numbers))


def test_text_is_the_same_whatever_the_arrays_hold(tmp_path):
    """With all of them beside it: scalars of Python, short ones and those of one value as well."""
    files = []
    for captured, x in ((np.ones(3, np.float32), 1.0), (np.arange(3, dtype=np.float32), 2.5)):
        fun = from_function(lambda c=captured, x=x: (lambda v, w: (v * c, w), (x, True)), "test")
        found = jaxpr_to_draft.read(fun)
        shows = {"metric": "outputs", "fails": {}, "tolerances": {}, "seconds": 1.0}
        sides = ("jax-legacy", "jax-simplified")
        file = tmp_path / f"program_{x:g}.py".replace(".5", "")
        made = write(found.draft, found.store, header="", sides=sides, shows=shows, all_beside=True)
        made.save(file)
        files.append(made.text)
        [program] = targets.load([str(file)])
        assert (program.name, program.target) == (file.stem, f"{file}:program")
        again, args, _ = program.build()
        assert args == (x, True)
        assert bits(again(*args)) == bits((x * captured, True))
    assert files[0] == files[1]


def test_each_turn_of_a_loop_can_be_cut_out(tmp_path):
    """In the place of a scan, one turn of it: with the inputs that the first turn had."""

    def fun(x):
        return lax.scan(lambda c, t: (c * t + TABLE, ()), x * TABLE, jnp.array([5.0, 7.0]))[0]

    def one_turn(draft):
        draft = cleaned(draft)
        number = [each.primitive for each in draft.body.equations].index("scan")
        [candidate] = edits.inlined(draft, (), number)
        return candidate

    module, _ = written(fun, tmp_path, one_turn)
    inlined, args = module.program()
    assert "lax.scan" not in (tmp_path / "program.py").read_text().partition("# -- what runs")[0]
    [result] = inlined(*args)
    np.testing.assert_array_equal(result, X * TABLE * 5 + TABLE)


def test_what_decides_when_a_loop_ends_is_not_cut(tmp_path):
    def fun(x):
        def turn(carry):
            n, y = carry
            return n + 1, jnp.sin(y)

        return lax.while_loop(lambda carry: carry[0] < 3, turn, (0, x * TABLE))

    draft = cleaned(jaxpr_to_draft.read(from_function(lambda: (fun, (X,)), "test")).draft)
    number = [each.primitive for each in draft.body.equations].index("while")
    body = draft.body.equations[number].bodies[1]
    assert edits.movable(draft, ((number, 0),)) == ()
    movable = edits.movable(draft, ((number, 1),))
    assert {body.equations[n].primitive for n in movable} == {"sin"}


def test_constants_stay_constants_where_what_made_them_is_cut():
    """XLA folds what captured arrays alone decide; an argument in their place would hide it."""

    def fun(x):
        return x * jnp.sin(jnp.cos(TABLE)) + jnp.tanh(x)

    draft = cleaned(jaxpr_to_draft.read(from_function(lambda: (fun, (X,)), "test")).draft)
    names = [each.primitive for each in draft.body.equations]
    kept = [names.index("sin"), names.index("add")]
    cut = edits.cut(draft, (), kept)
    [captured] = cut.captured
    assert captured.type.shape == (40,)
    assert {each.number for each in cut.arguments}.isdisjoint({captured.number})
    assert [each.primitive for each in cut.body.equations] == ["sin", "add"]


def test_barriers_go_with_the_operands_that_are_cut():
    """A checkpoint that was differentiated keeps its barriers, operand by operand."""
    fun = PROGRAMS["derivative of a checkpoint"]
    draft = cleaned(jaxpr_to_draft.read(from_function(lambda: (fun, (X,)), "test")).draft)
    equations = draft.body.equations
    [number] = [n for n, each in enumerate(equations) if each.primitive == "checkpoint"]
    whole, [body] = equations[number], equations[number].bodies
    assert whole.barriers == (True,) * len(whole.operands)
    unread = drafts.Var(-1, body.inputs[0].type)
    wider = replace(
        whole,
        operands=(whole.operands[0], *whole.operands),
        barriers=(False, *whole.barriers),
        bodies=(replace(body, inputs=(unread, *body.inputs)),),
    )
    changed = (*equations[:number], wider, *equations[number + 1 :])
    assert cleaned(replace(draft, body=replace(draft.body, equations=changed))) == draft


def test_json_and_back():
    draft = jaxpr_to_draft.read(from_function(lambda: (PROGRAMS["cond"], (X,)), "test")).draft
    assert drafts.from_json(drafts.to_json(draft)) == draft


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        (
            lambda x: jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), np.float32), x),
            "pure_callback: it is not in jax.extend.core.primitives",
        ),
        (lambda x: (jax.debug.print("{}", x), x)[1] * TABLE, None),
        (
            lambda x: jax.checkpoint(jnp.sin, policy=jax.checkpoint_policies.everything_saveable)(
                x
            ),
            "checkpoint: its policy|remat2: its policy",
        ),
        (
            lambda x: jax.vmap(lambda v: lax.while_loop(lambda c: c < v, lambda c: c + 1, v))(
                x * TABLE
            ),
            r"while: its condition for each of a batch, bool\[40\]",
        ),
        (lambda x: jax.device_put(x * TABLE, jax.devices()[0]), "device_put: its device"),
    ],
)
def test_what_cannot_be_written_is_named(fun, said, tmp_path):
    if said is None:  # an effect that no output depends on goes with dead code
        written(fun, tmp_path)
        assert "debug" not in (tmp_path / "program.py").read_text().partition("# -- what")[0]
        return
    with pytest.raises(CannotWriteError, match=said):
        written(fun, tmp_path)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x: (x * TABLE, np.zeros((), jax.dtypes.float0)),
        lambda x: jnp.broadcast_to(np.zeros((), jax.dtypes.float0), x.shape),
        lambda x: (x * TABLE, np.zeros(3, jax.dtypes.float0)),
        # The tangent of an integer that goes into a jitted function.
        lambda x: jax.jvp(
            lambda v: jax.jit(lambda k, u: (u * TABLE, k))(v.astype(int), v), (x,), (x,)
        )[1],
    ],
)
def test_what_has_no_elements_cannot_be_read(fun):
    program = from_function(lambda: (fun, (X,)), "test")
    with pytest.raises(jaxpr_to_draft.CannotReadError, match="an array of float0 has no elements"):
        jaxpr_to_draft.read(program)
