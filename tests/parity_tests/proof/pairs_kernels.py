"""Kernels of Pallas that differ in one thing: in what they read and write, and in their grids."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import ShapeDtypeStruct as S
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from pairs import FAMILIES, ONLY_JAXPRS, With, differ, equal

f32 = jnp.float32
X = S((8, 8), f32)
C = np.arange(64, dtype=np.float32).reshape(8, 8)
D = C.copy()
D[3, 3] = np.nextafter(np.float32(27), np.float32(28))


def call(kernel, *, table=C, out=X, interpret=True, **options):
    """A program that hands its argument and a captured array to a kernel."""
    return lambda x: pl.pallas_call(kernel, out_shape=out, interpret=interpret, **options)(x, table)


def add(x, t, o):
    o[...] = x[...] + t[...]


def plain(fun):
    """A kernel that writes once what a function makes of all of its inputs."""

    def kernel(x, t, o):
        o[...] = fun(x[...], t[...])

    return kernel


differ(
    "kernel-body",
    (X,),
    call(add),
    call(plain(lambda a, b: b + a)),
    call(plain(lambda a, b: a - b)),
    call(plain(lambda a, b: a + a)),
    call(plain(lambda a, b: a + b * 1.0)),
    call(plain(lambda a, b: a + b + 1)),
    call(plain(lambda a, b: a + b + 2)),
    call(add, table=D),
    call(add, table=C.T.copy()),
    lambda x: x + C,
)


def writes(*steps):
    """A kernel that writes to its output, in this order, slices and what goes there."""

    def kernel(x, t, o):
        for where, value in steps:
            o[where, :] = value(x, t, o)

    return kernel


first, second = (0, lambda x, t, o: x[1, :]), (1, lambda x, t, o: t[0, :])
differ(
    "kernel-writes",
    (X,),
    call(writes(first, second)),
    call(writes(second, first)),
    call(writes(first)),
    call(writes(first, second, first)),
    call(writes((1, first[1]), second)),
    call(writes((0, second[1]), (1, first[1]))),
    call(writes(first, (1, lambda x, t, o: t[1, :]))),
    call(writes(first, (1, lambda x, t, o: o[0, :]))),
    call(writes(first, (1, lambda x, t, o: x[0, :]))),
    call(writes(first, (slice(1, 3), lambda x, t, o: t[:2, :]))),
    call(writes(first, (slice(1, 5, 2), lambda x, t, o: t[:2, :]))),
    call(writes(first, (pl.ds(1, 3), lambda x, t, o: t[:3, :]))),
)


def accumulated(*, before, added):
    def kernel(x, t, o):
        kept = o[...] if before else None
        o[...] = x[...]
        if added:
            o[...] += t[...]
        o[...] = (kept if before else o[...]) * 2

    return kernel


differ(
    "kernel-reads",
    (X,),
    call(accumulated(before=False, added=True)),
    call(accumulated(before=True, added=True)),
    call(accumulated(before=False, added=False)),
    call(accumulated(before=True, added=False)),
)


def blocks(*maps, shape=(4, 4), grid=(2, 2), kernel=add, **options):
    specs = [pl.BlockSpec(shape, each) for each in maps]
    return call(kernel, grid=grid, in_specs=specs[:-1], out_specs=specs[-1], **options)


def ij(i, j):
    return i, j


differ(
    "kernel-grid",
    (X,),
    blocks(ij, ij, ij),
    blocks(lambda i, j: (j, i), ij, ij),
    blocks(ij, lambda i, j: (j, i), ij),
    blocks(ij, ij, lambda i, j: (j, i)),
    blocks(lambda i, j: (i, 0), ij, ij),
    blocks(lambda i, j: (i, 1), ij, ij),
    blocks(lambda i, j: (1 - i, j), ij, ij),
    blocks(ij, ij, ij, grid=(2, 1)),
    blocks(ij, ij, ij, shape=(4, 2), grid=(2, 4)),
    blocks(ij, ij, ij, shape=(2, 4), grid=(4, 2)),
    blocks(ij, ij, ij, shape=(pl.Element(4), pl.Element(4))),
    blocks(lambda i: (i, 0), lambda i: (i, 0), lambda i: (i, 0), shape=(None, 8), grid=(8,)),
    blocks(lambda i: (i, 0), lambda i: (i, 0), lambda i: (i, 0), shape=(1, 8), grid=(8,)),
)


def at(place):
    def kernel(x, t, o):
        o[...] = x[...] + t[...] * place()

    return blocks(ij, ij, ij, kernel=kernel)


differ(
    "kernel-place",
    (X,),
    at(lambda: pl.program_id(0)),
    at(lambda: pl.program_id(1)),
    at(lambda: pl.num_programs(0)),
    at(lambda: 0),
    at(lambda: pl.program_id(0) + pl.program_id(1)),
)


def when(test, *, otherwise=False):
    def kernel(x, t, o):
        o[...] = x[...]

        @pl.when(test())
        def _():
            o[...] = t[...]

        if otherwise:
            o[...] = o[...] + 1

    return blocks(ij, ij, ij, kernel=kernel)


differ(
    "kernel-when",
    (X,),
    when(lambda: pl.program_id(0) == 0),
    when(lambda: pl.program_id(0) == 1),
    when(lambda: pl.program_id(1) == 0),
    when(lambda: pl.program_id(0) != 0),
    when(lambda: pl.program_id(0) == 0, otherwise=True),
)


def prefetched(index, *, of=lambda s, i: s[i], kernel=None):
    def copies(s, x, o):
        o[...] = x[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((4, 8), lambda i, s: (of(s, i), 0))],
        out_specs=pl.BlockSpec((4, 8), lambda i, s: (i, 0)),
    )
    return lambda x: pl.pallas_call(kernel or copies, out_shape=X, grid_spec=spec, interpret=True)(
        np.array(index, np.int32), x
    )


differ(
    "kernel-prefetch",
    (X,),
    prefetched([1, 0]),
    prefetched([0, 1]),
    prefetched([1, 0], of=lambda s, i: s[1 - i]),
    prefetched([1, 0], of=lambda s, i: s[0]),
    prefetched([1, 0], of=lambda s, i: 1 - s[i]),
    prefetched([1, 0], of=lambda s, i: i),
)


def kept(*scratch, of=0, start=0.0):
    def kernel(x, t, o, *kept):
        for each in kept:
            each[...] = jnp.full_like(each, start)
        kept[of][0, :] = x[0, :]
        kept[1][1, :] = t[1, :]
        o[...] = kept[0][...]

    return call(kernel, scratch_shapes=list(scratch))


V = pltpu.VMEM((8, 8), f32)
differ(
    "kernel-scratch",
    (X,),
    kept(V, V),
    kept(V, V, of=1),
    kept(V, V, start=1.0),
    kept(V, V, start=-0.0),
    kept(V, V, V),
    kept(V, pltpu.VMEM((9, 8), f32)),
    kept(V, pltpu.SMEM((8, 8), f32)),
)


def scoped(inside, *types):
    def kernel(x, t, o):
        o[...] = pl.run_scoped(lambda *refs: inside(x, t, o, *refs), *types)

    return call(kernel)


def swapped(x, t, o, kept):
    kept[...] = x[...] + t[...]
    return kept[...]


def unswapped(x, t, o, kept):
    before = kept[...]
    kept[...] = x[...] + t[...]
    return before


def over(x, t, o, kept):
    o[...] = t[...]
    kept[...] = x[...] + t[...]
    return kept[...]


differ(
    "kernel-scoped",
    (X,),
    scoped(swapped, V),
    scoped(unswapped, V),
    scoped(over, V),
    scoped(lambda x, t, o, kept: swapped(t, t, o, kept), V),
    scoped(lambda x, t, o, kept: swapped(x, x, o, kept), V),
    scoped(lambda x, t, o, a, b: swapped(x, t, o, a), V, V),
    scoped(swapped, pltpu.SMEM((8, 8), f32)),
)


def looped(body, *, turns=3):
    def kernel(x, t, o):
        o[...] = x[...]
        lax.fori_loop(0, turns, lambda i, c: body(i, c, x, t, o), 0)

    return call(kernel)


def row(i, c, x, t, o):
    o[i, :] = x[i, :] + t[i, :]
    return c


def other_row(i, c, x, t, o):
    o[i, :] = x[i, :] + t[i + 1, :]
    return c


def carried_row(i, c, x, t, o):
    o[c, :] = x[i, :] + t[i, :]
    return c + 2


def running_row(i, c, x, t, o):
    o[i + 1, :] = o[i, :] + t[i, :]
    return c


differ(
    "kernel-loop",
    (X,),
    looped(row),
    looped(row, turns=4),
    looped(other_row),
    looped(carried_row),
    looped(running_row),
)


def until(test):
    def kernel(x, t, o):
        o[...] = x[...]

        def turn(i):
            o[i, :] = t[i, :]
            return i + 1

        lax.while_loop(lambda i: test(i, x, t, o), turn, 0)

    return call(kernel)


differ(
    "kernel-while",
    (X,),
    until(lambda i, x, t, o: i < 3),
    until(lambda i, x, t, o: i < 4),
    until(lambda i, x, t, o: (i < 3) & (o[0, 0] < 1)),
    until(lambda i, x, t, o: (i < 3) & (o[0, 1] < 1)),
    until(lambda i, x, t, o: (i < 3) & (x[0, 0] < 1)),
)


def two(x, t, o, p):
    o[...] = x[...]
    p[...] = t[...]


def two_crossed(x, t, o, p):
    p[...] = x[...]
    o[...] = t[...]


differ(
    "kernel-results",
    (X,),
    call(two, out=(X, X)),
    call(two_crossed, out=(X, X)),
    lambda x: call(two, out=(X, X))(x)[::-1],
    lambda x: call(two, out=(X, X))(x)[0],
    lambda x: call(two, out=(X, X))(x)[1],
    call(two, out=(X, X), input_output_aliases={0: 0}),
    call(two, out=(X, X), input_output_aliases={0: 1}),
    call(two, out=(X, X), input_output_aliases={1: 0}),
)


def told(*texts):
    def kernel(x, t, o):
        for text in texts:
            pl.debug_print(text, x[0, 0])
        o[...] = x[...] + t[...]

    return call(kernel)


differ("kernel-debug", (X,), told("a {}"), told("b {}"), told("a {}", "a {}"), call(add))
differ(
    "kernel-batched",
    (S((3, 8, 8), f32),),
    jax.vmap(call(add)),
    lambda x: jax.vmap(lambda a, t: pl.pallas_call(add, out_shape=X, interpret=True)(a, t))(
        x, jnp.stack([C, C, C])
    ),
    jax.vmap(call(add, table=D)),
    jax.vmap(call(plain(lambda a, b: a * b))),
    lambda x: jax.vmap(call(add), out_axes=1)(x),
    lambda x: jax.vmap(call(add), in_axes=1)(jnp.swapaxes(x, 0, 1)),
)
differ(
    "kernel-derivative",
    (X,),
    lambda x: jax.jvp(call(add), (x,), (x,)),
    lambda x: jax.jvp(call(plain(lambda a, b: a * b)), (x,), (x,)),
    lambda x: jax.jvp(call(plain(lambda a, b: jnp.sin(a))), (x,), (x,)),
    lambda x: jax.jvp(call(plain(lambda a, b: lax.stop_gradient(a))), (x,), (x,)),
)


def on_tpu(kernel=add, **options):
    return With(call(kernel, interpret=False, **options), X, platforms=("tpu",))


def parallel(*kinds):
    return {"grid": (1,), "compiler_params": pltpu.CompilerParams(dimension_semantics=kinds)}


def anywhere(memory_space):
    spec = pl.BlockSpec(memory_space=memory_space)
    return {"in_specs": [spec, spec], "out_specs": spec}


def copies(of):
    def kernel(x, t, o, done):
        copy = pltpu.make_async_copy((x, t)[of], o, done)
        copy.start()
        copy.wait()

    return on_tpu(kernel, scratch_shapes=[pltpu.SemaphoreType.DMA], **anywhere(pl.ANY))


def without_wait(x, t, o, done):
    pltpu.make_async_copy(x, o, done).start()


def drawn(seed, kind=jnp.int32):
    def kernel(x, t, o):
        pltpu.prng_seed(seed)
        o[...] = lax.bitcast_convert_type(pltpu.prng_random_bits((8, 8)), f32) + x[...] + t[...]

    return on_tpu(kernel)


differ(
    "kernel-tpu",
    (X,),
    on_tpu(),
    on_tpu(**parallel("parallel")),
    on_tpu(**parallel("arbitrary")),
    on_tpu(**anywhere(pltpu.VMEM)),
    on_tpu(**anywhere(pltpu.SMEM)),
    on_tpu(cost_estimate=pl.CostEstimate(flops=1, transcendentals=0, bytes_accessed=0)),
    on_tpu(cost_estimate=pl.CostEstimate(flops=2, transcendentals=0, bytes_accessed=0)),
    copies(0),
    copies(1),
    on_tpu(without_wait, scratch_shapes=[pltpu.SemaphoreType.DMA], **anywhere(pl.ANY)),
    drawn(0),
    drawn(1),
    call(add),
)


def of_states(draw, result):
    """A kernel of what a function gives when it is called twice, and a semaphore between."""

    def kernel(x, t, o, sem):
        a = draw(sem)
        pl.semaphore_signal(sem, 1)
        b = draw(sem)
        o[...] = x[...] + result(a, b).astype(f32)

    return on_tpu(kernel, scratch_shapes=[pltpu.SemaphoreType.REGULAR])


def bits(sem):
    return pltpu.prng_random_bits((8, 8))


def in_scope(sem):
    return pl.run_scoped(lambda ref: pltpu.prng_random_bits((8, 8)), V)


for name, draw in {
    "bits": bits,
    "uniform": lambda sem: pltpu.stateful_uniform((8, 8)),
    "bits-in-jit": lambda sem: jax.jit(lambda: pltpu.prng_random_bits((8, 8)))(),
    "bits-in-scope": in_scope,
    "semaphore": pl.semaphore_read,
}.items():
    differ(
        f"kernel-state-{name}",
        (X,),
        of_states(draw, lambda a, b: a - b),
        of_states(draw, lambda a, b: b - a),
        of_states(draw, lambda a, b: a - a),
        of_states(draw, lambda a, b: b - b),
    )


def of_a_key(sem):
    return jax.random.bits(jax.random.key(0, impl="pallas_tpu"), (8, 8))


def in_order(*draws, last):
    """A kernel that draws, and writes what one of the draws gives."""

    def kernel(x, t, o):
        drawn = [each(None).astype(f32) for each in draws]
        o[...] = drawn[last] * 2 + drawn[1 - last]

    return on_tpu(kernel)


differ(
    "kernel-state-seeded",
    (X,),
    in_order(of_a_key, bits, last=0),
    in_order(of_a_key, bits, last=1),
    in_order(bits, of_a_key, last=0),
    in_order(bits, of_a_key, last=1),
)


def in_a_loop(x, t, o):
    o[...] = lax.fori_loop(0, 3, lambda i, c: c + pltpu.stateful_uniform((8, 8)), x[...])


def before_a_loop(x, t, o):
    drawn = pltpu.stateful_uniform((8, 8))
    o[...] = lax.fori_loop(0, 3, lambda i, c: c + drawn, x[...])


differ("kernel-state-loop", (X,), on_tpu(in_a_loop), on_tpu(before_a_loop))


def signals(*which):
    """A kernel that signals two semaphores of the chip, which are two however alike they are."""

    def kernel(x, t, o):
        both = [pl.get_global(pltpu.SemaphoreType.REGULAR) for _ in range(2)]
        for n in which:
            pl.semaphore_signal(both[n], 1)
        o[...] = x[...] + t[...]

    return on_tpu(kernel)


differ("kernel-global", (X,), signals(0, 1), signals(0, 0))


def calls(*kernels, result=lambda x, made: x):
    return lambda x: result(x, [each(x) for each in kernels])


def sided(kernel=add, kind=True):
    params = pltpu.CompilerParams(has_side_effects=kind)
    return on_tpu(kernel, compiler_params=params).fun


differ(
    "kernel-side-effects",
    (X,),
    calls(),
    calls(sided()),
    calls(sided(), sided()),
    calls(sided(plain(lambda a, b: a - b))),
    calls(jax.jit(sided()), sided(plain(lambda a, b: a - b))),
    calls(sided(plain(lambda a, b: a - b)), jax.jit(sided())),
    lambda x: lax.fori_loop(0, 3, lambda i, c: sided()(x)[0, 0], 0.0) * 0 + x,
)
differ(
    "kernel-side-effects-used",
    (X,),
    calls(sided(), result=lambda x, made: (made[0], made[0])),
    calls(sided(), sided(), result=lambda x, made: (made[0], made[1])),
)
differ(
    "kernel-debug-dead",
    (X,),
    calls(),
    calls(told("a {}")),
    calls(told("b {}")),
    calls(told("a {}"), told("b {}")),
    calls(told("b {}"), told("a {}")),
    calls(jax.jit(told("a {}")), told("a {}")),
    lambda x: (lax.scan(lambda c, _: (c, told("a {}")(x)), 0, None, length=3), x)[1],
)


def on_cores(body, count=1, axis="c"):
    """A kernel that runs on each core of a chip."""
    if hasattr(pltpu, "TensorCoreMesh"):
        mesh = pltpu.TensorCoreMesh(axis_name=axis, num_cores=count)
    else:
        mesh = pltpu.create_tensorcore_mesh(axis, num_cores=count)
    return lambda x: pl.kernel(body, X, mesh=mesh)(x, C)


def of_core(first, second, axis="c"):
    def body(x, t, o):
        @pl.when(lax.axis_index(axis) == 0)
        def _():
            pltpu.sync_copy((x, t)[first], o)

        pltpu.sync_copy((x, t)[second], o)

    return body


differ(
    "kernel-cores",
    (X,),
    on_cores(of_core(0, 1)),
    on_cores(of_core(0, 1), 2),
    on_cores(of_core(0, 0)),
    on_cores(of_core(1, 0)),
    on_cores(of_core(0, 1, "d"), axis="d"),
)
# In the module of an interpreted kernel each reference is an array: some of these are one there.
ONLY_JAXPRS |= {family for family in FAMILIES if family.startswith("kernel-")}

equal("kernel-renamed", (X,), call(add), call(lambda a, b, c: add(a, b, c), name="other"))
equal("kernel-in-jit", (X,), call(add), jax.jit(call(add)))
cores = on_cores(of_core(0, 1))
equal("kernel-on-cores-in-jit", (X,), cores, jax.jit(cores))
equal(
    "kernel-call-inside",
    (X,),
    call(plain(lambda a, b: jnp.sin(a) + b)),
    call(plain(jax.jit(lambda a, b: jax.jit(jnp.sin)(a) + b))),
)
equal(
    "kernel-passed-down",
    (X,),
    call(add),
    lambda x: jax.jit(lambda a, t: call(add, table=t)(a))(x, jnp.asarray(C)),
)
equal(
    "kernel-dead",
    (X,),
    call(plain(lambda a, b: a + b)),
    call(plain(lambda a, b: (jnp.sin(a), a + b)[1])),
)
equal(
    "kernel-map-written-otherwise",
    (X,),
    blocks(ij, ij, ij),
    blocks(lambda a, b: (lambda unused: (a, b))(b * 3), ij, ij),
)
equal(
    "kernel-in-scan",
    (X,),
    lambda x: lax.scan(lambda c, _: (call(add)(c), None), x, None, length=3)[0],
    lambda x: lax.scan(lambda c, _: (jax.jit(call(add))(c), None), x, None, length=3)[0],
)
by_rows = looped(row)
equal(
    "kernel-hoisted-from-scan",
    (X,),
    lambda x: lax.scan(lambda c, _: (c + by_rows(D), None), x, None, length=3)[0],
    lambda x: (lambda y: lax.scan(lambda c, _: (c + y, None), x, None, length=3)[0])(by_rows(D)),
)
equal(
    "kernel-hoisted-from-cond",
    (X,),
    lambda x: lax.cond(x[0, 0] > 0, lambda: x + by_rows(D), lambda: x),
    lambda x: (lambda y: lax.cond(x[0, 0] > 0, lambda: x + y, lambda: x))(by_rows(D)),
)
