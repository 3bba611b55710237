"""The constructs with bodies: each runs a function within a function."""

from __future__ import annotations

from parity_tests.fuzz.construct import ALL, Construct, Demand, Site

_FORWARD: frozenset[Demand] = frozenset({"forward"})
_REVERSE: frozenset[Demand] = frozenset({"reverse"})
_BATCH: frozenset[Demand] = frozenset({"batch"})
_REMAT: frozenset[Demand] = frozenset({"remat"})


def _predicate(s: Site) -> str:
    """Return a predicate that is true or false by a wide margin; XLA can fold some of them."""
    return (
        "jnp.sum(x) < 1000.0",
        "jnp.sum(x) > 1000.0",
        f"jnp.any({s.value()} > 2.0)",
        f"{s.scalar()} > -2.0",
    )[s.option % 4]


def _cond_constant(s: Site) -> str:
    return (
        f"y = lax.cond({_predicate(s)}, lambda: {s.full(0)}, lambda: {s.full(1)})\n"
        "x = 0.5 * x + 0.5 * y"
    )


def _switch(s: Site) -> str:
    index = f"jnp.int32(jnp.sum(x) < 1000.0) + {s.option % 2}"
    return f"x = lax.switch({index}, [{', '.join(s.bodies)}], x)"


def _scan(s: Site) -> str:
    how = ("", ", unroll=2", ", reverse=True", ", unroll=True")[s.option % 4]
    return f"x, _ = lax.scan(lambda c, _: ({s.f}(c), None), x, None, length=3{how})"


def _scan_over_captured(s: Site) -> str:
    how = ("", ", reverse=True", ", unroll=2")[s.option % 3]
    return (
        f"x, ys = lax.scan(lambda c, row: (0.5 * {s.f}(c) + 0.5 * row, c), x, {s.matrix()}{how})\n"
        "x = 0.5 * x + 0.5 * jnp.mean(ys, axis=0)"
    )


def _scan_from_captured(s: Site) -> str:
    return (
        f"y, _ = lax.scan(lambda c, _: ({s.f}(c) * x, None), {s.full()}, None, length=2)\n"
        "x = 0.5 * x + 0.5 * y"
    )


def _scan_to_captured(s: Site) -> str:
    return (
        f"x, ys = lax.scan(lambda c, _: ({s.f}(c), {s.full()}), x, None, length=3)\n"
        "x = 0.5 * x + 0.5 * ys[1]"
    )


def _scan_rows(s: Site) -> str:
    return f"_, x = lax.scan(lambda c, row: (0.5 * c, {s.f}(row) * c), {s.row()}, x)"


def _fori(s: Site) -> str:
    body = (f"{s.f}(v)", f"0.5 * {s.f}(v) + 0.5 * jnp.asarray({s.matrix()})[i]")[s.option % 2]
    return f"x = lax.fori_loop(0, 3, lambda i, v: {body}, x)"


def _while(s: Site) -> str:
    return (
        "x = lax.while_loop(\n"
        f"    lambda v: (v[0] < 3) & jnp.all({s.row()} < 5.0),\n"
        f"    lambda v: (v[0] + 1, {s.f}(v[1])),\n    (0, x),\n)[1]"
    )


def _while_stopped(s: Site) -> str:
    return (
        "y = lax.while_loop(\n    lambda v: v[0] < 2,\n"
        f"    lambda v: (v[0] + 1, {s.f}(v[1]) * {s.value()}),\n"
        "    (0, lax.stop_gradient(x)),\n)[1]\nx = 0.5 * x + 0.5 * y"
    )


def _checkpoint(s: Site) -> str:
    how = (
        "",
        ", policy=jax.checkpoint_policies.nothing_saveable",
        ", policy=jax.checkpoint_policies.dots_saveable",
        ", prevent_cse=False",
    )[s.option % 4]
    return f"x = jax.checkpoint({s.f}{how})(x)"


def _custom_jvp(s: Site) -> str:
    h = f"h{s.number}"
    return (
        f"{h} = jax.custom_jvp({s.f})\n"
        f"{h}.defjvp(lambda p, t: ({h}(*p), t[0] * {s.value()}))\nx = {h}(x)"
    )


def _custom_vjp(s: Site) -> str:
    h = f"h{s.number}"
    forward, backward = (
        (f"lambda v: ({s.f}(v), {s.raw()})", f"lambda _, ct: (ct * {s.value()},)"),
        (f"lambda v: ({s.f}(v), {s.value()})", "lambda r, ct: (ct * r,)"),
    )[s.option % 2]
    return f"{h} = jax.custom_vjp({s.f})\n{h}.defvjp({forward}, {backward})\nx = {h}(x)"


def _custom_gradient(s: Site) -> str:
    h = f"h{s.number}"
    return (
        f"{h} = jax.custom_gradient(lambda v: ({s.f}(v), lambda ct: (ct * {s.value()},)))\n"
        f"x = {h}(x)"
    )


def _custom_vmap(s: Site) -> str:
    h = f"h{s.number}"
    return (
        f"{h} = jax.custom_batching.custom_vmap({s.f})\n"
        f"{h}.def_vmap(lambda n, b, v: (jax.vmap({s.f})(v) * {s.scalar()}, True))\n"
        f"x = {h}(x)" + (f" + 0.25 * jax.vmap({h})(x[None])[0]" if s.option % 2 else "")
    )


def _vmap(s: Site) -> str:
    axes = ("", ", in_axes=1", ", out_axes=1", ", in_axes=1, out_axes=-1")[s.option % 4]
    return f"x = jax.vmap({s.f}{axes})(x)"


def _vmap_with_captured(s: Site) -> str:
    return f"x = jax.vmap(lambda row, c: {s.f}(row) * c)(x, {s.matrix()})"


def _vmap_collective(s: Site) -> str:
    axis = f"a{s.number}"
    return (
        f'x = jax.vmap(lambda row: lax.pmean({s.f}(row) * {s.row()}, "{axis}") + 0.5 * row, '
        f'axis_name="{axis}")(x) * 0.5'
    )


def _grad(s: Site) -> str:
    return f"x = jnp.tanh(jax.grad(lambda v: jnp.sum({s.f}(v) * {s.value()}))(x))"


def _value_and_grad(s: Site) -> str:
    return f"y, g = jax.value_and_grad(lambda v: jnp.sum({s.f}(v)))(x)\nx = jnp.tanh(g + y)"


def _jvp(s: Site) -> str:
    return f"y, t = jax.jvp({s.f}, (x,), ({s.full()},))\nx = jnp.tanh(y + t)"


def _linearize(s: Site) -> str:
    return f"y, linear = jax.linearize({s.f}, x)\nx = jnp.tanh(y + linear({s.full()}))"


def _vjp(s: Site) -> str:
    return f"y, pull = jax.vjp({s.f}, x)\nx = jnp.tanh(y + pull({s.full()})[0])"


def _jacobian(s: Site) -> str:
    mode = ("jacfwd", "jacrev")[s.option % 2]
    return f"x = jnp.tanh({s.row()} @ jax.{mode}({s.f})(x))"


def _associative_scan(s: Site) -> str:
    joined = f"0.5 * p + 0.5 * q * {s.scalar()}"
    return f"x = lax.associative_scan(lambda p, q: {joined}, {s.f}(x), axis=-1)"


def _map(s: Site) -> str:
    how = ("", ", batch_size=2")[s.option % 2]
    return f"x = lax.map({s.f}, x{how})"


def _shard_map(s: Site) -> str:
    spec = 'P("i")' if s.size % 2 == 0 else "P()"
    return f"x = jax.shard_map(jax.vmap({s.f}), mesh=MESH, in_specs={spec}, out_specs={spec})(x)"


def _linear_solve(s: Site) -> str:
    matvec = f"lambda v: {2 * s.size} * v + v @ {s.matrix()}"
    solve = f"lambda m, b: b / {2 * s.size} + 0 * m(b)"
    return f"x = lax.custom_linear_solve(\n    {matvec}, {s.f}(x),\n    {solve},\n    {solve},\n)"


def _custom_root(s: Site) -> str:
    return (
        "x = jnp.tanh(lax.custom_root(\n"
        f"    lambda v: v - {s.f}(x) * {s.value()}, x, lambda g, v: v - g(v),\n"
        "    lambda g, y: y / g(jnp.ones_like(y)),\n))"
    )


def _scoped(s: Site) -> str:
    if s.option % 2:
        return f'x = jax.named_call({s.f}, name="named")(x)'
    return f'with jax.named_scope("scope"):\n    x = {s.f}(x)'


def _closure_convert(s: Site) -> str:
    return (
        f"g, residuals = jax.closure_convert(lambda v: {s.f}(v) * {s.value()} * x, x)\n"
        "x = g(x, *residuals)"
    )


def _reference_in_loop(s: Site) -> str:
    return (
        f"r = jax.new_ref({s.full()})\n\n"
        f"def turn(i, v):\n    r[...] = 0.5 * r[...] + 0.5 * {s.f}(v)\n"
        f"    return v * {s.value()}\n\n"
        "x = lax.fori_loop(0, 2, turn, x)\nx = 0.5 * x + 0.5 * r[...]"
    )


# The simplest first: Hypothesis shrinks towards the front.
WITH_BODIES = (
    Construct("jit", lambda s: f"x = jit({s.f})(x)", bodies=1),
    Construct("jit_inline", lambda s: f"x = jit({s.f}, inline=True)(x)", bodies=1),
    Construct("jit_twice", lambda s: f"j = jit({s.f})\nx = 0.5 * j(x) + 0.5 * j(-x)", bodies=1),
    Construct(
        "jit_of_captured",
        lambda s: f"x = jit(lambda v, c: {s.f}(v) * c)(x, {s.value()})",
        captured=1,
        bodies=1,
        options=3,
    ),
    Construct("call_twice", lambda s: f"x = 0.5 * {s.f}(x) + 0.5 * {s.f}(-x)", bodies=1),
    Construct("scope", _scoped, bodies=1, options=2),
    Construct(
        "cond",
        lambda s: f"x = lax.cond({_predicate(s)}, {s.bodies[0]}, {s.bodies[1]}, x)",
        captured=1,
        bodies=2,
        options=4,
    ),
    Construct(
        "cond_closed",
        lambda s: f"x = lax.cond({_predicate(s)}, lambda: {s.f}(x), lambda: x * {s.value()})",
        captured=1,
        bodies=1,
        options=4,
    ),
    Construct("cond_constant", _cond_constant, captured=2, options=4),
    Construct("switch", _switch, bodies=3, options=2),
    Construct("scan", _scan, bodies=1, options=4),
    Construct("scan_over_captured", _scan_over_captured, captured=1, bodies=1, options=3),
    Construct("scan_from_captured", _scan_from_captured, captured=1, bodies=1),
    Construct("scan_to_captured", _scan_to_captured, captured=1, bodies=1),
    Construct("scan_rows", _scan_rows, captured=1, bodies=1, by_row=True),
    Construct("fori", _fori, captured=1, bodies=1, options=2),
    Construct("while", _while, captured=1, bodies=1, survives=ALL - _REVERSE),
    Construct("while_stopped", _while_stopped, captured=1, bodies=1),
    Construct("map", _map, bodies=1, options=2, by_row=True, demands=_BATCH),
    Construct("associative_scan", _associative_scan, captured=1, bodies=1),
    Construct("vmap", _vmap, bodies=1, options=4, by_row=True, demands=_BATCH),
    Construct(
        "vmap_with_captured", _vmap_with_captured, captured=1, bodies=1, by_row=True, demands=_BATCH
    ),
    Construct(
        "vmap_collective", _vmap_collective, captured=1, bodies=1, by_row=True, demands=_BATCH
    ),
    Construct("checkpoint", _checkpoint, bodies=1, options=4, demands=_REMAT),
    Construct("grad", _grad, captured=1, bodies=1, demands=_REVERSE),
    Construct("value_and_grad", _value_and_grad, bodies=1, demands=_REVERSE),
    Construct("vjp", _vjp, captured=1, bodies=1, demands=_REVERSE),
    Construct("jvp", _jvp, captured=1, bodies=1, demands=_FORWARD),
    Construct("linearize", _linearize, captured=1, bodies=1, demands=_FORWARD | _REVERSE),
    Construct(
        "jacobian",
        _jacobian,
        captured=1,
        bodies=1,
        options=2,
        ranks=(1,),
        demands=_FORWARD | _REVERSE | _BATCH,
    ),
    Construct("custom_jvp", _custom_jvp, captured=1, bodies=1),
    Construct("custom_vjp", _custom_vjp, captured=1, bodies=1, options=2, survives=ALL - _FORWARD),
    Construct("custom_gradient", _custom_gradient, captured=1, bodies=1, survives=ALL - _FORWARD),
    Construct(
        "custom_vmap",
        _custom_vmap,
        captured=1,
        bodies=1,
        options=2,
        survives=ALL - _REVERSE - _BATCH,
        demands=_BATCH,
    ),
    Construct("linear_solve", _linear_solve, captured=1, bodies=1),
    Construct("root", _custom_root, captured=1, bodies=1),
    Construct("closure_convert", _closure_convert, captured=1, bodies=1),
    Construct(
        "composite",
        lambda s: f'x = lax.composite({s.f}, name="generated.composite")(x)',
        bodies=1,
        survives=ALL - _FORWARD - _REVERSE - _BATCH,
    ),
    Construct(
        "remat_of_jit", lambda s: f"x = jax.checkpoint(jit({s.f}))(x)", bodies=1, demands=_REMAT
    ),
    Construct("shard_map", _shard_map, bodies=1, by_row=True, demands=_BATCH),
    Construct(
        "reference_in_loop",
        _reference_in_loop,
        captured=1,
        bodies=1,
        survives=ALL - _FORWARD - _REVERSE - _REMAT,
    ),
)
