"""Each difference between JAX versions is decided by what the installed JAX has."""

import collections
import dataclasses
import inspect
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import engine
from engine import jax_internals
from engine.jax_internals import differences, supported_versions

# -- which version changed what, and when a probe can go -------------------------------------------


def params_of_a_scan(num_consts=0):
    held = [jnp.full(3, float(n)) for n in range(num_consts)]
    [eqn] = engine.make_jaxpr(
        lambda x: lax.scan(lambda c, v: (c + sum(held) * v, v), x, jnp.ones(2)), constants="legacy"
    )(jnp.ones(3)).eqns[-1:]
    return eqn.params


def dead_code_rule(used, eqn):
    """Remove nothing."""
    return used, eqn


# The first version that has each capability; a function that says whether the installed JAX has it.
SINCE = {
    "BODIES_ARE_OF_ONE_CLASS": ("0.11.0", lambda: differences.BODIES_ARE_OF_ONE_CLASS),
    "num_scan_consts": ("0.11.0", lambda: "ft_in" in params_of_a_scan()),
    "with_scan_consts": (
        "0.11.0",
        lambda: "ft_in" in differences.with_scan_consts(params_of_a_scan(), 1),
    ),
    "is_flat_tree": ("0.11.0", lambda: any(map(differences.is_flat_tree, trees_of_a_scan()))),
    "is_shape_alone": ("0.11.0", lambda: differences._FLAT_TREES is not None),
    "traced_fields": ("0.11.1", lambda: differences.traced_fields("here") == ("here",)),
    "is_reference_type": ("0.11.1", lambda: not hasattr(jax.typeof(1.0), "has_qdd")),
    "exported_fields": ("0.11.1", lambda: not differences.exported_fields()),
    "EXPANDS_BEFORE_A_CALL": ("0.12.0", lambda: differences.EXPANDS_BEFORE_A_CALL),
    "dead_code_rule": (
        "0.12.0",
        lambda: differences.dead_code_rule(dead_code_rule) is not dead_code_rule,
    ),
    "holder_of": ("0.11.2", lambda: not hasattr(differences.config, "device_context")),
}


def trees_of_a_scan():
    return list(params_of_a_scan().values())


def version_tuple(version):
    return tuple(map(int, version.split(".")))


def test_every_probe_has_its_version():
    public = {
        name
        for name, value in vars(differences).items()
        if (inspect.isfunction(value) and value.__module__ == differences.__name__)
        or name.isupper()
    }
    assert {name for name in public if not name.startswith("_")} == set(SINCE)


@pytest.mark.parametrize("name", SINCE)
def test_the_installed_jax_has_what_its_version_has(name):
    since, has_it = SINCE[name]
    assert has_it() is (jax.__version_info__ >= version_tuple(since))


@pytest.mark.parametrize("name", SINCE)
def test_a_probe_goes_when_every_supported_version_has_the_capability(name):
    since, _ = SINCE[name]
    assert version_tuple(supported_versions.FIRST) < version_tuple(since), (
        f"every supported JAX has what `{name}` probes for: delete the probe and the older branch"
    )


# -- contexts, avals, exports, stages --------------------------------------------------------------


@pytest.mark.parametrize("home", ["config", "mesh"])
def test_a_context_is_found_where_this_jax_has_it(monkeypatch, home):
    for name in ("config", "mesh"):
        module = types.SimpleNamespace(**({"device_context": "found"} if name == home else {}))
        monkeypatch.setattr(differences, name, module)
    assert differences.holder_of("device_context") == "found"


def test_only_an_aval_that_says_so_is_the_type_of_state():
    assert differences.is_reference_type(types.SimpleNamespace(has_qdd=True))
    assert not differences.is_reference_type(types.SimpleNamespace(has_qdd=False))
    assert not differences.is_reference_type(types.SimpleNamespace())


@pytest.mark.parametrize(("fields", "expected"), [(("_has_named_shardings",), True), ((), False)])
def test_an_export_gets_the_fields_that_it_has_in_this_jax(monkeypatch, fields, expected):
    exported = dataclasses.make_dataclass("Exported", fields)
    of_this_jax = exported.__dataclass_fields__
    monkeypatch.setattr(jax.export.Exported, "__dataclass_fields__", of_this_jax)
    assert ("_has_named_shardings" in differences.exported_fields()) is expected


@pytest.mark.parametrize(
    ("constructor", "expected"),
    [(lambda self, fun_sourceinfo: None, ("here",)), (lambda self: None, ())],
)
def test_a_traced_stage_gets_the_fields_that_it_takes_in_this_jax(
    monkeypatch, constructor, expected
):
    monkeypatch.setattr(jax.stages.Traced, "__init__", constructor)
    assert differences.traced_fields("here") == expected


def test_a_traced_stage_knows_where_its_function_is_as_in_jax():
    """The field that some versions have reaches the stage that a user holds."""

    def fun(x):
        return x

    ours, stock = (jit(fun).trace(1.0) for jit in (engine.jit, jax.jit))
    assert getattr(ours, "_fun_sourceinfo", None) == getattr(stock, "_fun_sourceinfo", None)


# -- scans -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_constants_of_a_scan_are_counted(count):
    assert differences.num_scan_consts(params_of_a_scan(count)) == count


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("more", [0, 1, 3])
def test_a_scan_gets_more_constants_and_nothing_else_of_it_changes(before, more):
    params = params_of_a_scan(before)
    changed = differences.with_scan_consts(params, more)
    assert differences.num_scan_consts(params | changed) == before + more
    assert differences.num_scan_consts(params) == before
    [(name, after)] = changed.items()
    if differences.is_flat_tree(after):
        assert after.unpack()[1:] == params[name].unpack()[1:]
        assert after == params_of_a_scan(before + more)[name]  # as if JAX had traced it
    else:
        assert after == params_of_a_scan(before + more)[name]


def test_a_scan_without_results_gets_constants_after_dead_code_was_removed():
    """JAX's own pass writes the trees of a scan anew, in another form in jax 0.11."""
    table = jnp.arange(16.0)

    def fun(x):
        carry, _ = lax.scan(lambda c, v: ((c[0] * table + v, c[1] * 2), c[1]), (x, x), jnp.ones(3))
        return carry[0]

    x = np.ones(16, np.float32)
    lowered = engine.jit(fun, constants="simplified").lower(x)
    assert len(lowered.const_args) == 1
    np.testing.assert_array_equal(lowered.compile()(x), jax.jit(fun)(x))


# -- flat trees ------------------------------------------------------------------------------------


class OfTheUser:
    """Equal to everything, so that trees with it must never be compared."""

    def __eq__(self, other):
        return True

    __hash__ = None


Node = collections.namedtuple("Node", "a b")


def trees():
    """Yield flat trees, and whether each is its shape alone; none before jax 0.11.0."""
    made = differences._FLAT_TREES
    if made is None:
        return
    left, right = made.Either.left, made.Either.right
    none, user = made.FTSingleton(None), made.FTSingleton(OfTheUser())
    yield none, True
    yield user, False
    yield made.nones(3), True
    yield made.pack((none, made.nones(2), made.pack(()))), True
    yield made.pack((none, made.pack((none, user)))), False
    yield made.flatten((None, [None])), True
    yield made.flatten([1, (2,)]).map(lambda _: None), True
    yield made.flatten([1, (2,)]), False
    yield made.flatten(Node(1, 2)).map(lambda _: None), False  # a class of the user
    yield made.flatten({"a": 1}).map(lambda _: None), False  # its keys may be the user's
    yield made.FTStatic(OfTheUser()), False
    yield made.pack({"a": none}), False

    def filtered(value, depth):
        tree = made.FTSingleton(value)
        for _ in range(depth):
            tree = made.FTFiltered(tree)
        return tree

    for value in (left(None), right(None)):
        yield filtered(value, 1), True
        yield filtered(right(value), 2), True
        yield filtered(right(right(value)), 3), True
    for value in (left(OfTheUser()), right(OfTheUser())):
        yield filtered(value, 1), False
        yield filtered(right(value), 2), False
        yield filtered(right(right(value)), 3), False
    # What an inner filter leaves out is still there: it may be an object of the user.
    yield filtered(left(OfTheUser()), 2), False


def test_only_trees_without_objects_of_the_user_are_compared():
    found = [(tree, differences.is_shape_alone(tree), expected) for tree, expected in trees()]
    assert [each for each in found if each[1] is not each[2]] == []
    assert len(found) == (0 if jax.__version_info__ < (0, 11) else 25)
    assert all(differences.is_flat_tree(tree) for tree, *_ in found)
    assert not any(map(differences.is_flat_tree, (None, (), [None], "tree", np.ones(3))))


def test_trees_of_another_shape_are_not_equal():
    alone = [tree for tree, is_alone in trees() if is_alone]
    for i, one in enumerate(alone):
        assert [one == other for other in alone].index(True) <= i
    assert jax_internals.is_flat_tree is differences.is_flat_tree
