"""The const args that we expect of stock JAX, against the modules that it lowers to."""

import json
import subprocess
import sys

from program_files import script_file

from parity_tests.processes.side_environment import environment_of, with_our_packages

MODULES = ("seed_constants", "seed_jaxprs", "control_flow", "derivatives", "functions_in_functions")


def test_stock_jax_passes_what_is_expected_for_programs_of_the_corpus():
    """Also, the table of primitives with bodies has those that this release of JAX writes."""
    done = subprocess.run(
        [
            sys.executable,
            str(script_file("stock_const_args_of_corpus")),
            *(f"parity_tests.corpus.{each}" for each in MODULES),
        ],
        env=with_our_packages(environment_of("jax-simplified")),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["programs"] > 60
    assert found["apart"] == {}
    # A scatter has the combination of two elements as a body, which captures nothing.
    assert set(found["unknown"]) <= {"scatter-add"}
