"""The built-in corpus: its programs build, capture what they say, run, and are deterministic."""

import importlib
import re
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.extend import core

from parity_tests import corpus
from parity_tests.program import Program, from_function, mark_of

# Programs as JAX's documents have them: their arrays are staged out, or are scalars.
CAPTURE_NO_ARRAY = """
    func1 func2 func3 func4 func5 func6 one_of_three func7 func7_of_2020 func8_of_2020 func10
    func11 func12 func12_of_2020 func13 twice_the_square caller_of_twice_the_square cubic
    cubic_to_third_derivative lax_cosine thousand_cosines transpose cosine_of_integers
    scalars_only"""

REQUIRED = {
    "JAX's documents on jaxprs": """
        func1 func2 func3 func4 func5 func6 func6_captured one_of_three func7 func8
        func8_captured func10 func10_captured func11 func11_captured func12 func12_captured func13
        func13_captured""",
    "JAX's note on constants": """
        three_ways_to_make_an_array nullary_returns_captured used_by_many_equations
        inner_functions_take_subsets float64_array_in_32_bit_mode""",
    "JAX's document on exporting": """
        twice_the_square caller_of_twice_the_square cubic_to_third_derivative lax_cosine
        thousand_cosines transpose""",
    "real programs": """
        mlp_frozen_weights equinox_mlp equinox_partition linen_mlp nnx_module optax_adam_step
        numpyro_log_density numpyro_potential_gradient fft_filter_bank image_convolution_filters
        embedding_lookup scan_with_interpolation_table used_in_five_places linear_solve
        cholesky_of_captured sparse_product_by_scatter""",
    "control flow": """
        cond_one_branch_captures switch_between_tables while_captures_in_both fori_over_captured
        scan_emits_captured associative_scan_with_weights""",
    "transformations": """
        grad_through_captured vmap_with_captured jvp_along_captured vjp_against_captured
        custom_jvp_captures custom_vjp_captures checkpointed_layers""",
    "ways into a function": """
        nested_jits_share returns_captured static_argument_chooses keyword_arguments
        pytree_captured_and_returned""",
    "kinds of arrays": """
        bfloat16_weights int8_quantized_weights boolean_mask complex_phases zero_size_array
        at_the_embedding_threshold scalars_only fortran_ordered views_with_strides
        numpy_array_twice equal_but_distinct""",
    "keys": "raw_key_wrapped_inside key_made_inside typed_key_captured",
}


def _programs() -> list[Program]:
    return [
        from_function(value, f"{module.__name__}:{name}")
        for module in map(importlib.import_module, corpus.MODULES)
        for name, value in vars(module).items()
        if mark_of(value) and value.__module__ == module.__name__
    ]


PROGRAMS = {program.name: program for program in _programs()}


def _captured(closed):
    """Return the arrays in a closed jaxpr and its bodies, as constvars or as literals.

    A scalar is none, but a single typed key is: its data are an array.
    """
    found = list(closed.consts)
    for jaxpr in _bodies(closed.jaxpr):
        found += [c for sub in _closed_in_params(jaxpr) for c in sub.consts]
        atoms = [atom for eqn in jaxpr.eqns for atom in eqn.invars] + jaxpr.outvars
        found += [atom.val for atom in atoms if isinstance(atom, core.Literal)]
    return [value for value in found if np.ndim(value) or _is_key(value)]


def _is_key(value):
    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _host(value):
    return np.asarray(jax.random.key_data(value) if _is_key(value) else value)


def _bodies(jaxpr):
    yield jaxpr
    for sub in core.subjaxprs(jaxpr):
        yield from _bodies(sub)


def _closed_in_params(jaxpr):
    params = [param for eqn in jaxpr.eqns for param in eqn.params.values()]
    leaves = jax.tree.leaves(params, is_leaf=lambda leaf: isinstance(leaf, core.ClosedJaxpr))
    return [leaf for leaf in leaves if isinstance(leaf, core.ClosedJaxpr)]


def _bits(tree):
    """Return every leaf as its path, type, shape and bytes, so that NaN and -0.0 compare."""

    leaves, _ = jax.tree.flatten_with_path(tree)
    hosts = [(jax.tree_util.keystr(path), _host(leaf)) for path, leaf in leaves]
    return [(path, str(host.dtype), host.shape, host.tobytes()) for path, host in hosts]


def _trace(program):
    fun, args, kwargs = program.build()
    return jax.jit(fun).trace(*args, **kwargs), args, kwargs


@pytest.fixture(scope="class")
def staged(name):
    """A program's trace and arguments, made once for all the tests of it."""
    return _trace(PROGRAMS[name])


# The scope makes pytest run all the tests of one program in a row, on one trace.
@pytest.mark.parametrize("name", PROGRAMS, scope="class")
class TestProgram:
    def test_has_a_summary(self, name):
        summary = PROGRAMS[name].summary
        assert summary.endswith(".")
        assert len(summary) <= 100

    def test_captures_an_array_unless_listed(self, name, staged):
        traced, _, _ = staged
        assert bool(_captured(traced.jaxpr)) == (name not in CAPTURE_NO_ARRAY.split())

    def test_is_small(self, staged):
        traced, _, _ = staged
        assert max((value.nbytes for value in _captured(traced.jaxpr)), default=0) <= 2**20

    def test_runs_twice_to_the_same_bits(self, staged):
        traced, args, kwargs = staged
        compiled = traced.lower().compile()
        outputs = compiled(*args, **kwargs)
        assert jax.tree.leaves(outputs)
        assert _bits(outputs) == _bits(compiled(*args, **kwargs))

    def test_is_built_twice_to_the_same_bits(self, name, staged):
        # Same jaxpr, same captured values, same arguments: the same outputs, without the time
        # that a second compilation of every program takes.
        (one, *one_args), (other, *other_args) = staged, _trace(PROGRAMS[name])
        assert _without_addresses(one.jaxpr) == _without_addresses(other.jaxpr)
        assert _bits(_captured(one.jaxpr)) == _bits(_captured(other.jaxpr))
        assert _bits(one_args) == _bits(other_args)
        is_factory = PROGRAMS[name].mark.args is None  # else JAX has the trace in its cache
        if is_factory:
            assert not _shared(_captured(one.jaxpr), _captured(other.jaxpr))


def _shared(ours, theirs):
    """Return the arrays that two builds share: what one side overwrites would reach the next."""
    both_numpy = [
        (a, b) for a in ours for b in theirs if isinstance(a, np.ndarray) and type(a) is type(b)
    ]
    in_place = [a for a, b in both_numpy if np.shares_memory(a, b)]
    return in_place + [a for a in ours if any(a is b for b in theirs)]


def _without_addresses(jaxpr):
    return re.sub(r"0x[0-9a-f]+", "0x", str(jaxpr))


def test_names_are_unique():
    names = [program.name for program in _programs()]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("group", REQUIRED)
def test_required_programs_are_present(group):
    assert set(REQUIRED[group].split()) <= set(PROGRAMS)


def test_programs_listed_as_capturing_nothing_exist():
    assert set(CAPTURE_NO_ARRAY.split()) <= set(PROGRAMS)


def test_typed_keys_are_tagged():
    tagged = {name for name, program in PROGRAMS.items() if "prng" in program.tags}
    assert tagged == {"typed_key_captured", "typed_keys_captured"}


def test_the_list_of_modules_imports_neither_jax_nor_the_modules():
    code = (
        "import sys; from parity_tests import corpus; "
        "sys.exit(any(name in sys.modules for name in ('jax', 'numpy', *corpus.MODULES)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_check_for_captured_arrays_sees_into_bodies():
    table = np.arange(16.0, dtype=np.float32)

    def fun(x):
        return jax.lax.cond(x > 0, lambda: jax.jit(lambda: table + x)(), lambda: x + table[::-1])

    assert len(_captured(jax.make_jaxpr(fun)(1.0))) == 2
    assert _captured(jax.make_jaxpr(lambda x: x + 1.0)(1.0)) == []
