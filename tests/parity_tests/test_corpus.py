"""The built-in corpus: its programs build, capture what they say, run, and are deterministic."""

import importlib
import re
import subprocess
import sys

import jax
import numpy as np
import pytest

from parity_tests import corpus
from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.program import Program, from_function, mark_of

# Programs as JAX's documents have them: their arrays are staged out, or are scalars.
CAPTURE_NO_ARRAY = """
    func1 func2 func3 func4 func5 func6 one_of_three func7 func7_of_2020 func8_of_2020 func10
    func11 func12 func12_of_2020 func13 twice_the_square caller_of_twice_the_square cubic
    cubic_to_third_derivative lax_cosine thousand_cosines transpose cosine_of_integers
    scalars_only"""


def _programs() -> list[Program]:
    return [
        from_function(value, f"{module.__name__}:{name}")
        for module in map(importlib.import_module, corpus.MODULES)
        for name, value in vars(module).items()
        if mark_of(value) and value.__module__ == module.__name__
    ]


PROGRAMS = {program.name: program for program in _programs()}


def _captured(closed):
    return [use.array.value for use in captured_uses(closed)]


def _is_key(value):
    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _host(value):
    return np.asarray(jax.random.key_data(value) if _is_key(value) else value)


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
