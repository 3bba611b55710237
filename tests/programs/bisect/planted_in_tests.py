"""A pytest plugin that plants a site in a library, whose own tests then fail after the flip.

`python -m pytest -p planted_in_tests --planted NAME --pyargs optax.losses._smoothing_test` wraps
one function of the library. NAME is one of WRAPPED: a function below, or one of planted.py, which
the wrapped function then calls. The line that is to blame ends with `# NAME`.
"""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import planted
import pytest

TABLE = jnp.sin(jnp.arange(16.0))
ONE_OF_MANY = "abc,bcd,df->fa"


def library_reader(smooth_labels):
    def smoothed(labels, alpha):  # library_reader
        consts = jax.make_jaxpr(lambda x: x + TABLE)(1.0).consts
        return smooth_labels(labels, alpha) * len(consts)

    return smoothed


def library_branch(smooth_labels):
    def smoothed(labels, alpha):  # library_branch
        scale = 2.0 if jax.config.jax_use_simplified_jaxpr_constants else 1.0
        return smooth_labels(labels, alpha) * scale

    return smoothed


def library_overwritten(tree_cast):
    scratch = planted.aligned(np.zeros(64, np.float32))

    @jax.jit
    def total(x):
        return x + jnp.asarray(scratch).sum()  # library_overwritten

    def cast(tree, dtype):
        assert total(1.0) == 1.0
        scratch[:] = 7.0  # for the calls to come
        return tree_cast(tree, dtype)

    return cast


def library_donated(scale_by_factored_rms):
    def scale(*arguments, **options):
        state = jnp.arange(32.0)
        warm_up = jax.jit(lambda s: s * 2 + state, donate_argnums=0)  # library_donated
        assert warm_up(state)[1] == 3.0
        return scale_by_factored_rms(*arguments, **options)

    return scale


def one_of_many(build_expression):
    weights = jnp.arange(4096.0)

    def build(backend, arrays, expression):
        if expression.contraction == ONE_OF_MANY:
            compiled = jax.jit(lambda x: x + weights).lower(1.0).compile()  # one_of_many
            assert compiled.memory_analysis().argument_size_in_bytes < 1000
        return build_expression(backend, arrays, expression)

    return build


def of_planted(name, function):
    """Have the function call a program of planted.py, once, which is to return True."""
    once = functools.cache(getattr(planted, name))

    def wrapped(*arguments, **options):
        assert once()
        return function(*arguments, **options)

    return wrapped


WRAPPED = {
    "library_reader": "optax.losses._smoothing.smooth_labels",
    "library_branch": "optax.losses._smoothing.smooth_labels",
    "library_overwritten": "optax.tree_utils.tree_cast",
    "library_donated": "optax._src.factorized.scale_by_factored_rms",
    "one_of_many": "opt_einsum.backends.build_expression",
    "chaos": "optax.transforms._layouts.flatten",
    "helper_of_a_helper": "optax.transforms._monitoring.monitor",
    "together": "optax.tree_utils.tree_cast",
    "thread": "optax.transforms._constraining.zero_nans",
    "child": "optax.transforms._adding.add_decayed_weights",
    "flaky": "optax.tree_utils.tree_cast",
    "placement": "optax._src.lookahead.lookahead",
    "committed": "optax.contrib._complex_valued.split_real_and_imaginary",
    "two_devices": "scipy.cluster.vq.array_namespace",
    "guarded": "optax.transforms._adding.add_decayed_weights",
    "text_of_module": "opt_einsum.backends.evaluate_constants",
    "memory": "optax.transforms._monitoring.snapshot",
    "twice": "optax.transforms._accumulation.MultiSteps",
    "derivative": "optax.contrib._privacy.differentially_private_aggregate",
    "scanned": "optax.tree_utils.tree_split_key_like",
    "model": "optax.transforms._constraining.keep_params_nonnegative",
    "equinox_reader": "optax.schedules._join.join_schedules",
    "optimiser": "optax.transforms._freezing.freeze",
}


def pytest_addoption(parser):
    parser.addoption("--planted", default="nothing")


def pytest_configure(config):
    name = config.getoption("--planted")
    if name in ("nothing", "in_a_fixture"):
        return
    module, _, attribute = WRAPPED[name].rpartition(".")
    plant = globals().get(name) or functools.partial(of_planted, name)
    module = importlib.import_module(module)
    setattr(module, attribute, plant(getattr(module, attribute)))


@pytest.fixture(autouse=True)
def planted_fixture(request):
    if request.config.getoption("--planted") == "in_a_fixture":
        lowered = jax.jit(lambda x: x + TABLE).lower(1.0)  # in_a_fixture
        assert "dense" in lowered.as_text()
