"""The built-in corpus: programs that capture arrays in as many ways as people do.

A program is a factory marked with `@program`. It makes its captured arrays from fixed seeds when it
is called: an import allocates nothing, and every process gets bitwise the same values. The first
line of a program's docstring is its summary in the report.

The modules are named here, not imported: some need a library that may not be installed, and
collecting programs must not wait for JAX.
"""

MODULES = (
    "parity_tests.corpus.seed_jaxprs",
    "parity_tests.corpus.seed_constants",
    "parity_tests.corpus.seed_exports",
    "parity_tests.corpus.plain_jax",
    "parity_tests.corpus.kinds_of_arrays",
    "parity_tests.corpus.control_flow",
    "parity_tests.corpus.derivatives",
    "parity_tests.corpus.functions_in_functions",
    "parity_tests.corpus.prng",
    "parity_tests.corpus.libraries_equinox",
    "parity_tests.corpus.libraries_flax",
    "parity_tests.corpus.libraries_optax",
    "parity_tests.corpus.libraries_numpyro",
)
