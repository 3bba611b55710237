"""The constructs without bodies: most use a captured array as an operand."""

from __future__ import annotations

from parity_tests.fuzz.construct import ALL, Construct, Site


def _host_temporary(s: Site) -> str:
    # NumPy computes it at once: each trace captures a new array, which nothing else holds.
    return f"x = x * {s.host()}"


def _eager(s: Site) -> str:
    return f"with jax.ensure_compile_time_eval():\n    t = jnp.cos({s.value()})\nx = x * t"


def _callback(s: Site) -> str:
    how = ("sequential", "broadcast_all")[s.option % 2]
    return (
        "x = 0.5 * x + 0.5 * jax.pure_callback(\n"
        "    lambda v, c: np.sin(np.asarray(v)) * np.asarray(c),\n"
        "    jax.ShapeDtypeStruct(x.shape, x.dtype),\n"
        f"    lax.stop_gradient(x), {s.full()}, vmap_method={how!r},\n)"
    )


def _platform_dependent(s: Site) -> str:
    return (
        "x = lax.platform_dependent(\n"
        f"    x, cpu=lambda v: v * {s.value()}, default=lambda v: v - {s.value()}\n)"
    )


def _dynamic_row(s: Site) -> str:
    start = f"jnp.int32({s.scalar(1)} > 0)"
    row = f"lax.dynamic_index_in_dim({s.matrix()}, {start}, keepdims=False)"
    return f"x = 0.5 * x + 0.5 * {row}"


# The simplest first: Hypothesis shrinks towards the front.
OPERATIONS = (
    Construct("sine", lambda s: "x = jnp.sin(x)"),
    Construct("mix", lambda s: f"x = 0.5 * x + 0.5 * {s.value()}", captured=1, options=3),
    Construct("scale", lambda s: f"x = x * {s.value()}", captured=1, options=3),
    Construct("matmul", lambda s: f"x = x @ {s.matrix()} / {s.size}", captured=1, options=2),
    Construct("left_matmul", lambda s: f"x = {s.matrix()} @ x / {s.size}", captured=1, options=2),
    Construct(
        "einsum",
        lambda s: f'x = jnp.einsum("...i,ij,j->...j", x, {s.matrix()}, {s.row(1)}) / {s.size}',
        captured=2,
    ),
    Construct("host_temporary", _host_temporary, captured=1),
    Construct("eager", _eager, captured=1, options=3),
    Construct(
        "literal_array", lambda s: f"x = x * jnp.array({[0.9 - i / 16 for i in range(s.size)]})"
    ),
    Construct(
        "reduce",
        lambda s: f"x = 0.5 * x - 0.5 * jnp.mean(x * {s.value()}, axis=-1, keepdims=True)",
        captured=1,
        options=3,
    ),
    Construct(
        "cumsum", lambda s: f"x = jnp.cumsum(x * {s.value()}, axis=-1) / {s.size}", captured=1
    ),
    Construct("permute", lambda s: f"x = x[..., {s.indices()}]", captured=1),
    Construct(
        "gather",
        lambda s: (
            f"x = 0.5 * x + 0.5 * jnp.asarray({s.matrix()})[{s.indices(1)}]" + "[0]" * (s.rank == 1)
        ),
        captured=2,
        options=2,
    ),
    Construct("dynamic_row", _dynamic_row, captured=2, options=2),
    Construct("select", lambda s: f"x = jnp.where({s.value()} > 0, x, -x)", captured=1, options=3),
    Construct("set", lambda s: f"x = x.at[..., 0].set({s.scalar()})", captured=1),
    Construct(
        "scatter_add", lambda s: f"x = (x.at[..., {s.indices()}].add({s.row(1)})) * 0.5", captured=2
    ),
    Construct(
        "set_in_captured",
        lambda s: f"x = jnp.asarray({s.full()}).at[..., 1].set(x[..., 0]) * x",
        captured=1,
    ),
    Construct(
        "sort_by",
        lambda s: f"x = lax.sort(({s.full()}, x), dimension=-1, num_keys=1)[1]",
        captured=1,
    ),
    Construct(
        "interpolate",
        lambda s: f"x = jnp.interp(x, np.linspace(-1, 1, {s.size}, dtype=np.float32), {s.row()})",
        captured=1,
    ),
    Construct(
        "convolve",
        lambda s: f'x = jnp.convolve(x, {s.row()}, mode="same") / {s.size}',
        captured=1,
        ranks=(1,),
    ),
    Construct(
        "solve",
        lambda s: f"x = jnp.linalg.solve({s.matrix()} + {2 * s.size} * jnp.eye({s.size}), x)",
        captured=1,
    ),
    Construct("fft", lambda s: f"x = jnp.fft.fft(x * {s.value()}).real / {s.size}", captured=1),
    Construct(
        "random",
        lambda s: f"x = 0.5 * x + 0.5 * jax.random.uniform({s.key()}, x.shape)",
        captured=1,
    ),
    Construct(
        "mask_at_random",
        lambda s: f"x = jnp.where(jax.random.bernoulli({s.key()}, 0.5, x.shape), x, {s.value(1)})",
        captured=2,
    ),
    Construct(
        "barrier", lambda s: f"x = sum(lax.optimization_barrier((x, {s.full()}))) * 0.5", captured=1
    ),
    Construct(
        "stopped", lambda s: f"x = x * lax.stop_gradient({s.value()})", captured=1, options=3
    ),
    Construct("put", lambda s: f"x = x * jax.device_put({s.value()})", captured=1, options=3),
    Construct(
        "constrained",
        lambda s: f"x = x * lax.with_sharding_constraint({s.full()}, NamedSharding(MESH, P()))",
        captured=1,
    ),
    Construct(
        "reference",
        lambda s: f"r = jax.new_ref(x)\nr[...] = 0.5 * r[...] + 0.5 * {s.value()}\nx = r[...]",
        captured=1,
        options=3,
        survives=ALL - {"forward", "reverse", "remat"},
    ),
    Construct("platform_dependent", _platform_dependent, captured=1, options=3),
    Construct(
        "debug_callback",
        lambda s: f"jax.debug.callback(lambda v: None, {s.value()})\nx = x * 0.5",
        captured=1,
    ),
    Construct("callback", _callback, captured=1, options=2),
)
