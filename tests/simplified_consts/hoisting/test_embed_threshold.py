"""A policy decides array by array what the simplified pipeline inlines and hoists."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes
from profiled import frames_of

import engine
from simplified_consts.hoisting.embed_threshold import select

SMALL = jnp.arange(4.0)  # 16 bytes: below the embed threshold
MIDDLE = jnp.arange(16.0) + 1  # 64 bytes
LARGE = np.linspace(0.0, 1.0, 256, dtype=np.float32)  # 1024 bytes
OFFSET = jnp.float32(0.5)


def captures_three(x):
    y = x + SMALL.sum() + (MIDDLE * 2).sum() + OFFSET
    return jax.lax.fori_loop(0, 2, lambda _, c: c * jnp.mean(LARGE) + MIDDLE[0], y) + jnp.max(LARGE)


def hoist(constant):
    return "hoist"


def inline(constant):
    return "inline"


def unsure(constant):
    return None


def embed(constant):
    return "embed"


def keep_middle_out(constant):
    return "inline" if constant.shape == (16,) else None


X = np.float32(2.0)

# policy -> const args, and bytes in the module: an array is inlined once for each function, but
# embedded once for each use
COUNTS = {
    None: (2, 0),
    unsure: (2, 0),
    hoist: (3, 0),
    inline: (0, 64 + 1024),
    embed: (0, 2 * 64 + 2 * 1024),
    keep_middle_out: (1, 64),
}


def counts(lowered):
    return len(lowered.const_args), inlined_bytes(lowered.as_text())


@pytest.mark.parametrize("policy", COUNTS)
def test_const_args_and_inlined_bytes(policy):
    by_keyword = engine.jit(captures_three, constants="simplified", constant_policy=policy)
    assert counts(by_keyword.lower(X)) == COUNTS[policy]
    with engine.constant_policy(policy):
        by_setting = engine.jit(captures_three, constants="simplified")
        assert counts(by_setting.lower(X)) == COUNTS[policy]
    expected = jax.jit(captures_three)(X)
    for _ in range(2):
        np.testing.assert_allclose(by_keyword(X), expected, rtol=1e-5)


def test_a_policy_is_asked_once_for_each_array_with_its_description():
    asked = []
    jitted = engine.jit(
        captures_three, constants="simplified", constant_policy=lambda c: asked.append(c)
    )
    for _ in range(2):
        jitted(X)
        jitted.lower(X)
    assert [(c.shape, c.dtype, c.nbytes) for c in asked] == [
        ((256,), np.float32, 1024),
        ((16,), np.float32, 64),
        ((4,), np.float32, 16),
    ]
    np.testing.assert_array_equal(asked[0].value, LARGE)
    assert asked[1].value is MIDDLE
    for constant in asked:
        file, _, function = constant.captured_at()
        assert (file, "captures_three" in function) == (__file__, True)
    with pytest.raises(AttributeError):
        asked[0].nbytes = 0


def compiled_const_args(jitted, x):
    """How many const args the executable of a call takes, seen by the policy of that call."""
    return len(jitted.lower(x).compile().const_args)


@pytest.mark.parametrize("answer", ["inline", "embed", "hoist"])
def test_a_policy_is_asked_once_however_often_a_program_is_lowered(answer):
    asked = []

    def policy(constant):
        asked.append(constant)
        return answer

    jitted = engine.jit(lambda x: x + LARGE, constants="simplified", constant_policy=policy)
    traced = jitted.trace(np.float32(1))
    for _ in range(3):
        traced.lower()
        jitted(np.float32(1))
    assert len(asked) == 1


def test_a_new_policy_makes_a_new_program_and_a_known_one_does_not():
    asked = []

    def noted(answer):
        return lambda constant: asked.append(answer) or answer

    jitted = engine.jit(captures_three, constants="simplified")
    first, second = noted("hoist"), noted("inline")
    for policy in (None, first, second, first, None, second):
        with engine.constant_policy(policy):
            jitted(X)
    assert asked == ["hoist"] * 3 + ["inline"] * 3
    try:
        engine.config.update("constant_policy", first)
        assert engine.config.constant_policy is first
        with engine.constant_policy(None):  # None is a value, too, not a missing one
            assert engine.config.constant_policy is None
            assert compiled_const_args(jitted, X) == 2
        assert compiled_const_args(jitted, X) == 3
    finally:
        engine.config.update("constant_policy", None)
    assert compiled_const_args(jitted, X) == 2


def test_two_policies_of_one_function_are_two_programs():
    answers = {}
    for policy in (hoist, inline, None):
        asked = answers[policy] = []
        keeping = policy and (lambda c, p=policy, a=asked: a.append(p(c)) or p(c))
        jitted = engine.jit(captures_three, constants="simplified", constant_policy=keeping)
        jitted(X)
    assert {p and p.__name__: set(a) for p, a in answers.items()} == {
        "hoist": {"hoist"},
        "inline": {"inline"},
        None: set(),
    }


def test_the_keyword_beats_the_setting_and_works_in_a_decorator():
    @engine.jit(constants="simplified", constant_policy=hoist)
    def fun(x):
        return x + SMALL

    with engine.constant_policy(inline):
        assert counts(fun.lower(1.0)) == (1, 0)


def test_the_outermost_program_decides():
    inner = engine.jit(captures_three, constants="simplified", constant_policy=hoist)
    outer = engine.jit(lambda x: inner(x) + 1, constants="simplified", constant_policy=inline)
    assert counts(outer.lower(X)) == (0, 64 + 1024)


def noted(answer, asked):
    """A new policy that notes what it is asked about."""
    return lambda constant: asked.append(constant.shape) or answer


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap])
def test_derived_programs_have_the_policy_of_the_program(transform):
    x = X if transform is jax.grad else np.ones(3, np.float32)
    asked = []
    policy = noted("hoist", asked)
    derived = transform(engine.jit(captures_three, constants="simplified", constant_policy=policy))
    with engine.constant_policy(lambda c: pytest.fail("another one's policy")):
        for _ in range(2):
            np.testing.assert_allclose(derived(x), transform(jax.jit(captures_three))(x), rtol=1e-5)
    assert len(asked) == len(set(asked)) > 0  # only at the first call


def test_a_backward_pass_has_the_policy_of_its_forward_pass():
    doubled = jax.custom_vjp(lambda x: x * 2)
    doubled.defvjp(lambda x: (x * 2, None), lambda _, cotangent: (cotangent * MIDDLE.sum(),))
    asked = []
    with engine.constant_policy(noted("hoist", asked)):
        _, backward = jax.vjp(engine.jit(doubled, constants="simplified"), X)
    assert asked == []
    with engine.constant_policy(lambda c: pytest.fail("another one's policy")):
        backward(jnp.float32(1.0))
    assert asked == [(16,)]


def test_derived_programs_hoist_as_the_policy_says(monkeypatch):
    from simplified_consts import const_args

    passed = []
    stock = const_args.const_args

    def const_args(plan, request):
        passed.append(len(plan.const_args))
        return stock(plan, request)

    pipeline = engine.api.pipeline_of("simplified")
    monkeypatch.setattr(
        engine.api,
        "pipeline_of",
        lambda side: dataclasses.replace(pipeline, const_args=const_args),
    )
    for policy, most in ((hoist, 3), (inline, 0), (keep_middle_out, 1)):
        passed.clear()
        jax.vmap(engine.jit(captures_three, constants="simplified", constant_policy=policy))(
            np.ones(5, np.float32)
        )
        assert passed == [most]


def test_the_policy_of_a_trace_stays_with_it():
    with engine.constant_policy(hoist):
        traced = engine.jit(captures_three, constants="simplified").trace(X)
    assert counts(traced.lower()) == COUNTS[hoist]
    assert counts(traced.lower(hoist_constants_as_args=False))[0] == 0


@pytest.mark.parametrize("answer", ["hoisted", True, 1, ["inline"]])
def test_other_answers_are_refused(answer):
    jitted = engine.jit(
        lambda x: x + MIDDLE, constants="simplified", constant_policy=lambda c: answer
    )
    with pytest.raises(
        ValueError, match=r"must return 'inline', 'embed', 'hoist' or None, got .*"
    ) as error:
        jitted(1.0)
    assert "float32[16] (64 bytes)" in str(error.value)
    assert __file__ in str(error.value)


def test_errors_of_a_policy_are_raised():
    def raises(constant):
        raise LookupError(f"{constant.nbytes} bytes")

    with pytest.raises(LookupError, match="64 bytes"):
        engine.jit(lambda x: x + MIDDLE, constants="simplified", constant_policy=raises)(1.0)


class Unhashable:
    __hash__ = None

    def __call__(self, constant):
        return None


@pytest.mark.parametrize(
    ("bad", "said"),
    [("inline", "a function of a captured"), (3, "a table such as"), (Unhashable(), "hashable")],
)
def test_wrong_policies_are_refused(bad, said):
    with pytest.raises(ValueError, match=said):
        engine.jit(captures_three, constant_policy=bad)
    with pytest.raises(ValueError, match=said):
        engine.constant_policy(bad)
    with pytest.raises(ValueError, match=said):
        engine.config.update("constant_policy", bad)


def test_legacy_asks_no_policy():
    def never(constant):
        pytest.fail("legacy inlines everything")

    jitted = engine.jit(captures_three, constants="legacy", constant_policy=never)
    plain = engine.jit(captures_three, constants="legacy").lower(X).as_text()
    assert jitted.lower(X).as_text() == plain
    np.testing.assert_allclose(jitted(X), jax.jit(captures_three)(X), rtol=1e-6)


def test_scalars_references_and_dead_arrays_are_not_asked_about():
    asked = []
    ref = jax.new_ref(jnp.zeros(9))

    def fun(x):
        _ = x + LARGE  # dead
        ref[...] += x
        return x * OFFSET + MIDDLE

    policy = lambda c: asked.append(c.shape)  # noqa: E731
    engine.jit(fun, constants="simplified", constant_policy=policy)(1.0)
    assert asked == [(16,)]


def test_typed_keys_are_arrays_like_others():
    keys = jax.random.split(jax.random.key(3), 2)
    fun = lambda x: x + jax.random.uniform(keys[0])  # noqa: E731
    for policy, const_args in ((hoist, 1), (inline, 0), (embed, 0)):
        jitted = engine.jit(fun, constants="simplified", constant_policy=policy)
        assert len(jitted.lower(1.0).const_args) == const_args
        np.testing.assert_allclose(jitted(1.0), jax.jit(fun)(1.0))


def test_a_reducer_may_use_inlined_arrays_only():
    def reducer(x):
        return jax.lax.reduce(x, 0.0, lambda a, b: a + b + SMALL[0], (0,))

    with pytest.raises(NotImplementedError, match="captured an array"):
        engine.jit(reducer, constants="simplified", constant_policy=hoist)(jnp.ones(3))


def test_a_policy_is_refused_where_jax_itself_would_hoist():
    """In bodies of primitives without a rule, JAX applies the threshold and no policy."""
    closed_jaxpr = engine.make_jaxpr(lambda x: x + MIDDLE, constants="simplified")(1.0)
    select(closed_jaxpr, 32, unsure).refuse_what_jax_cannot_follow({"with_a_body"})
    with pytest.raises(NotImplementedError, match="into the bodies of with_a_body: JAX itself"):
        select(closed_jaxpr, 32, hoist).refuse_what_jax_cannot_follow({"with_a_body"})


def test_second_call_runs_no_python():
    jitted = engine.jit(captures_three, constants="simplified", constant_policy=keep_middle_out)
    plain = engine.jit(captures_three, constants="simplified")

    jitted(X)
    assert frames_of(jitted, X) == 0
    with engine.constant_policy(keep_middle_out):
        plain(X)
        assert frames_of(plain, X) == 0
    with engine.constant_policy(inline):
        assert frames_of(plain, X) > 0  # the count can fail: this one is another program
