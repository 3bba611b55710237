"""The catalogue of constructs: those without bodies, and those that run a function in a function.

In each group the simplest come first: Hypothesis shrinks towards the front.
"""

from __future__ import annotations

from parity_tests.fuzz.construct import ALL, Construct, Demand

_FORWARD: frozenset[Demand] = frozenset({"forward"})
_REVERSE: frozenset[Demand] = frozenset({"reverse"})
_BATCH: frozenset[Demand] = frozenset({"batch"})
_REMAT: frozenset[Demand] = frozenset({"remat"})

OPERATIONS = (
    Construct("sine", "x = jnp.sin(x)"),
    Construct("mix", "x = 0.5 * x + 0.5 * {value}", parts=3),
    Construct("scale", "x = x * {value}", parts=3),
    Construct("matmul", "x = x @ {matrix} / {size}", parts=2),
    Construct("left_matmul", "x = {matrix} @ x / {size}", parts=2),
    Construct("einsum", 'x = jnp.einsum("...i,ij,j->...j", x, {matrix}, {row1}) / {size}'),
    # NumPy computes it at once: each trace captures a new array, which nothing else holds.
    Construct("host_temporary", "x = x * {host}"),
    Construct(
        "eager",
        "with jax.ensure_compile_time_eval():\n    t = jnp.cos({value})\nx = x * t",
        parts=3,
    ),
    Construct("literal_array", "x = x * jnp.array({falling})"),
    Construct(
        "reduce", "x = 0.5 * x - 0.5 * jnp.mean(x * {value}, axis=-1, keepdims=True)", parts=3
    ),
    Construct("cumsum", "x = jnp.cumsum(x * {value}, axis=-1) / {size}"),
    Construct("permute", "x = x[..., {indices}]"),
    Construct("gather", "x = 0.5 * x + 0.5 * jnp.asarray({matrix})[{indices1}]{of_state}", parts=2),
    Construct(
        "dynamic_row",
        "x = 0.5 * x + 0.5 * lax.dynamic_index_in_dim("
        "{matrix}, jnp.int32({scalar1} > 0), keepdims=False)",
        parts=2,
    ),
    Construct("select", "x = jnp.where({value} > 0, x, -x)", parts=3),
    Construct("set", "x = x.at[..., 0].set({scalar})"),
    Construct("scatter_add", "x = (x.at[..., {indices}].add({row1})) * 0.5"),
    Construct("set_in_captured", "x = jnp.asarray({full}).at[..., 1].set(x[..., 0]) * x"),
    Construct("sort_by", "x = lax.sort(({full}, x), dimension=-1, num_keys=1)[1]"),
    Construct(
        "interpolate", "x = jnp.interp(x, np.linspace(-1, 1, {size}, dtype=np.float32), {row})"
    ),
    Construct("convolve", 'x = jnp.convolve(x, {row}, mode="same") / {size}', ranks=(1,)),
    Construct("solve", "x = jnp.linalg.solve({matrix} + {twice} * jnp.eye({size}), x)"),
    Construct("fft", "x = jnp.fft.fft(x * {value}).real / {size}"),
    Construct("random", "x = 0.5 * x + 0.5 * jax.random.uniform({key}, x.shape)"),
    Construct(
        "mask_at_random",
        "x = jnp.where(jax.random.bernoulli({key}, 0.5, x.shape), x, {value1})",
    ),
    Construct("barrier", "x = sum(lax.optimization_barrier((x, {full}))) * 0.5"),
    Construct("stopped", "x = x * lax.stop_gradient({value})", parts=3),
    Construct("put", "x = x * jax.device_put({value})", parts=3),
    Construct(
        "constrained", "x = x * lax.with_sharding_constraint({full}, NamedSharding(MESH, P()))"
    ),
    Construct(
        "reference",
        "r = jax.new_ref(x)\nr[...] = 0.5 * r[...] + 0.5 * {value}\nx = r[...]",
        parts=3,
        survives=_BATCH,
    ),
    Construct(
        "platform_dependent",
        "x = lax.platform_dependent(\n"
        "    x, cpu=lambda v: v * {value}, default=lambda v: v - {value}\n)",
        parts=3,
    ),
    Construct("debug_callback", "jax.debug.callback(lambda v: None, {value})\nx = x * 0.5"),
    Construct(
        "callback",
        "x = 0.5 * x + 0.5 * jax.pure_callback(\n"
        "    lambda v, c: np.sin(np.asarray(v)) * np.asarray(c),\n"
        "    jax.ShapeDtypeStruct(x.shape, x.dtype),\n"
        "    lax.stop_gradient(x), {full}, vmap_method='{way}',\n)",
        ways=("sequential", "broadcast_all"),
    ),
)

# True or false by a wide margin; XLA can fold some of them.
_PREDICATES = (
    "jnp.sum(x) < 1000.0", "jnp.sum(x) > 1000.0", "jnp.any({value} > 2.0)", "{scalar} > -2.0",
)  # fmt: skip

WITH_BODIES = (
    Construct("jit", "x = jit({f})(x)"),
    Construct("jit_inline", "x = jit({f}, inline=True)(x)"),
    Construct("jit_twice", "j = jit({f})\nx = 0.5 * j(x) + 0.5 * j(-x)"),
    Construct("jit_of_captured", "x = jit(lambda v, c: {f}(v) * c)(x, {value})", parts=3),
    Construct("call_twice", "x = 0.5 * {f}(x) + 0.5 * {f}(-x)"),
    Construct(
        "scope",
        "{way}",
        ways=(
            'with jax.named_scope("scope"):\n    x = {f}(x)',
            'x = jax.named_call({f}, name="named")(x)',
        ),
    ),
    Construct("cond", "x = lax.cond({way}, {f}, {f1}, x)", ways=_PREDICATES),
    Construct(
        "cond_closed", "x = lax.cond({way}, lambda: {f}(x), lambda: x * {value})", ways=_PREDICATES
    ),
    Construct(
        "cond_constant",
        "y = lax.cond({way}, lambda: {full}, lambda: {full1})\nx = 0.5 * x + 0.5 * y",
        ways=_PREDICATES,
    ),
    Construct(
        "switch",
        "x = lax.switch(jnp.int32(jnp.sum(x) < 1000.0) + {way}, [{f}, {f1}, {f2}], x)",
        ways=("0", "1"),
    ),
    Construct(
        "scan",
        "x, _ = lax.scan(lambda c, _: ({f}(c), None), x, None, length=3{way})",
        ways=("", ", unroll=2", ", reverse=True", ", unroll=True"),
    ),
    Construct(
        "scan_over_captured",
        "x, ys = lax.scan(lambda c, row: (0.5 * {f}(c) + 0.5 * row, c), x, {matrix}{way})\n"
        "x = 0.5 * x + 0.5 * jnp.mean(ys, axis=0)",
        ways=("", ", reverse=True", ", unroll=2"),
    ),
    Construct(
        "scan_from_captured",
        "y, _ = lax.scan(lambda c, _: ({f}(c) * x, None), {full}, None, length=2)\n"
        "x = 0.5 * x + 0.5 * y",
    ),
    Construct(
        "scan_to_captured",
        "x, ys = lax.scan(lambda c, _: ({f}(c), {full}), x, None, length=3)\n"
        "x = 0.5 * x + 0.5 * ys[1]",
    ),
    Construct(
        "scan_rows",
        "_, x = lax.scan(lambda c, row: (0.5 * c, {f}(row) * c), {row}, x)",
        by_row=True,
    ),
    Construct(
        "fori",
        "x = lax.fori_loop(0, 3, lambda i, v: {way}, x)",
        ways=("{f}(v)", "0.5 * {f}(v) + 0.5 * jnp.asarray({matrix})[i]"),
    ),
    Construct(
        "while",
        "x = lax.while_loop(\n"
        "    lambda v: (v[0] < 3) & jnp.all({row} < 5.0),\n"
        "    lambda v: (v[0] + 1, {f}(v[1])),\n    (0, x),\n)[1]",
        survives=ALL - _REVERSE,
    ),
    Construct(
        "while_stopped",
        "y = lax.while_loop(\n    lambda v: v[0] < 2,\n"
        "    lambda v: (v[0] + 1, {f}(v[1]) * {value}),\n"
        "    (0, lax.stop_gradient(x)),\n)[1]\nx = 0.5 * x + 0.5 * y",
    ),
    Construct(
        "map",
        "x = lax.map({f}, x{way})",
        ways=("", ", batch_size=2"),
        by_row=True,
        demands=_BATCH,
    ),
    Construct(
        "associative_scan",
        "x = lax.associative_scan(lambda p, q: 0.5 * p + 0.5 * q * {scalar}, {f}(x), axis=-1)",
    ),
    Construct(
        "vmap",
        "x = jax.vmap({f}{way})(x)",
        ways=("", ", in_axes=1", ", out_axes=1", ", in_axes=1, out_axes=-1"),
        by_row=True,
        demands=_BATCH,
    ),
    Construct(
        "vmap_with_captured",
        "x = jax.vmap(lambda row, c: {f}(row) * c)(x, {matrix})",
        by_row=True,
        demands=_BATCH,
    ),
    Construct(
        "vmap_collective",
        'x = jax.vmap(lambda row: lax.pmean({f}(row) * {row}, "a{number}") + 0.5 * row, '
        'axis_name="a{number}")(x) * 0.5',
        by_row=True,
        demands=_BATCH,
    ),
    Construct(
        "checkpoint",
        "x = jax.checkpoint({f}{way})(x)",
        ways=(
            "",
            ", policy=jax.checkpoint_policies.nothing_saveable",
            ", policy=jax.checkpoint_policies.dots_saveable",
            ", prevent_cse=False",
        ),
        demands=_REMAT,
    ),
    Construct(
        "grad",
        "x = jnp.tanh(jax.grad(lambda v: jnp.sum({f}(v) * {value}))(x))",
        demands=_REVERSE,
    ),
    Construct(
        "value_and_grad",
        "y, g = jax.value_and_grad(lambda v: jnp.sum({f}(v)))(x)\nx = jnp.tanh(g + y)",
        demands=_REVERSE,
    ),
    Construct(
        "vjp", "y, pull = jax.vjp({f}, x)\nx = jnp.tanh(y + pull({full})[0])", demands=_REVERSE
    ),
    Construct("jvp", "y, t = jax.jvp({f}, (x,), ({full},))\nx = jnp.tanh(y + t)", demands=_FORWARD),
    Construct(
        "linearize",
        "y, linear = jax.linearize({f}, x)\nx = jnp.tanh(y + linear({full}))",
        demands=_FORWARD | _REVERSE,
    ),
    Construct(
        "jacobian",
        "x = jnp.tanh({row} @ jax.{way}({f})(x))",
        ways=("jacfwd", "jacrev"),
        ranks=(1,),
        demands=_FORWARD | _REVERSE | _BATCH,
    ),
    Construct(
        "custom_jvp",
        "h{number} = jax.custom_jvp({f})\n"
        "h{number}.defjvp(lambda p, t: (h{number}(*p), t[0] * {value}))\nx = h{number}(x)",
    ),
    Construct(
        "custom_vjp",
        "h{number} = jax.custom_vjp({f})\nh{number}.defvjp({way})\nx = h{number}(x)",
        ways=(
            "lambda v: ({f}(v), {raw}), lambda _, ct: (ct * {value},)",
            "lambda v: ({f}(v), {value}), lambda r, ct: (ct * r,)",
        ),
        survives=ALL - _FORWARD,
    ),
    Construct(
        "custom_gradient",
        "h{number} = jax.custom_gradient(lambda v: ({f}(v), lambda ct: (ct * {value},)))\n"
        "x = h{number}(x)",
        survives=ALL - _FORWARD,
    ),
    Construct(
        "custom_vmap",
        "h{number} = jax.custom_batching.custom_vmap({f})\n"
        "h{number}.def_vmap(lambda n, b, v: (jax.vmap({f})(v) * {scalar}, True))\n"
        "x = h{number}(x){way}",
        ways=("", " + 0.25 * jax.vmap(h{number})(x[None])[0]"),
        survives=ALL - _REVERSE - _BATCH,
        demands=_BATCH,
    ),
    Construct(
        "linear_solve",
        "x = lax.custom_linear_solve(\n"
        "    lambda v: {twice} * v + v @ {matrix}, {f}(x),\n"
        "    lambda m, b: b / {twice} + 0 * m(b),\n"
        "    lambda m, b: b / {twice} + 0 * m(b),\n)",
    ),
    Construct(
        "root",
        "x = jnp.tanh(lax.custom_root(\n"
        "    lambda v: v - {f}(x) * {value}, x, lambda g, v: v - g(v),\n"
        "    lambda g, y: y / g(jnp.ones_like(y)),\n))",
    ),
    Construct(
        "closure_convert",
        "g, residuals = jax.closure_convert(lambda v: {f}(v) * {value} * x, x)\n"
        "x = g(x, *residuals)",
    ),
    Construct(
        "composite",
        'x = lax.composite({f}, name="generated.composite")(x)',
        survives=_REMAT,
    ),
    Construct("remat_of_jit", "x = jax.checkpoint(jit({f}))(x)", demands=_REMAT),
    Construct(
        "shard_map",
        "x = jax.shard_map(jax.vmap({f}), mesh=MESH, in_specs={spec}, out_specs={spec})(x)",
        by_row=True,
        demands=_BATCH,
    ),
    Construct(
        "reference_in_loop",
        "r = jax.new_ref({full})\n\n"
        "def turn(i, v):\n    r[...] = 0.5 * r[...] + 0.5 * {f}(v)\n    return v * {value}\n\n"
        "x = lax.fori_loop(0, 2, turn, x)\nx = 0.5 * x + 0.5 * r[...]",
        survives=_BATCH,
    ),
)

CATALOGUE = {construct.name: construct for construct in (*OPERATIONS, *WITH_BODIES)}
