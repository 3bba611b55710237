"""Shared by the tester's tests: a file of planted faults, and campaigns that run once."""

from pathlib import Path

import pytest

from parity_tests.campaign import run
from parity_tests.campaign.options import CampaignOptions
from reports.rows import Campaign, ProgramRow

FAULTS = '''
import os
import time

import jax.numpy as jnp
import numpy as np
from jax import lax

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
WEIGHTS = np.arange(77, dtype=np.float32)
X = (np.float32(2.0),)


@program(args=X)
def good(x):
    """Scales captured weights."""
    return {"scaled": x * jnp.asarray(WEIGHTS), "sum": WEIGHTS.sum() + x}


@program(args=X)
def other_value(x):
    return x * (1.5 if SIMPLIFIED else 1.0)


@program(args=X)
def other_rounding(x):
    return x * (1 + 2.0**-23 if SIMPLIFIED else 1.0)


MANY = (np.linspace(0.1, 0.9, 512, dtype=np.float32), np.float32(1000.0))


@program(args=MANY)
def other_order(x, large):
    scale = 5.0 if SIMPLIFIED else 3.0
    return ((x * scale + large) - large) / scale


@program(args=MANY)
def other_order_of_bits(x, large):
    scale = 5.0 if SIMPLIFIED else 3.0
    return ((x * scale + large) - large) / scale, lax.bitcast_convert_type(x, jnp.int32)


@program(args=X)
def other_dtype(x):
    return x.astype(jnp.bfloat16 if SIMPLIFIED else jnp.float32)


@program(args=X)
def other_shape(x):
    return jnp.full((2 if SIMPLIFIED else 3,), x)


@program(args=X)
def other_weak_type(x):
    return jnp.sin(1.0) if SIMPLIFIED else jnp.sin(jnp.float32(1.0))


@program(args=X)
def other_structure(x):
    return (x,) if SIMPLIFIED else [x]


@program(args=X)
def other_equations(x):
    return x + 0.0 if SIMPLIFIED else x


@program(args=X)
def exits(x):
    if SIMPLIFIED:
        print("last words", flush=True)
        os._exit(7)
    return x


@program(args=X)
def aborts(x):
    if SIMPLIFIED:
        os.abort()
    return x


@program(args=X)
def hangs(x):
    if SIMPLIFIED:
        time.sleep(3600)
    return x


@program(args=X)
def raises(x):
    raise LookupError("no such thing\\nand more")


@program(args=X)
def raises_on_one_side(x):
    if SIMPLIFIED:
        raise LookupError("no such thing")
    return x


@program(args=X)
def raises_unspeakably(x):
    raise LookupError("no file \\udcff.txt")


@program
def factory_raises():
    raise OSError("no data")


@program
def factory_returns_nonsense():
    return 3


@program(args=X)
def last(x):
    print("noise on stdout")
    return x + 1
'''

GOOD = """
import numpy as np

from parity_tests import program

WEIGHTS = np.arange(77, dtype=np.float32)


@program(args=(np.float32(2.0),))
def good(x):
    return x * WEIGHTS
"""


@pytest.fixture(scope="session")
def faults_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("planted") / "faults.py"
    file.write_text(FAULTS)
    return file


@pytest.fixture(scope="session")
def good_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("good") / "good_programs.py"
    file.write_text(GOOD)
    return file


@pytest.fixture(scope="session")
def progress() -> list[tuple[int, int, str]]:
    return []


@pytest.fixture(scope="session")
def faults(faults_file: Path, progress: list[tuple[int, int, str]]) -> Campaign:
    """The planted faults on both stock sides."""
    return run.run(
        [str(faults_file)],
        CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=30.0),
        progress=lambda *step: progress.append(step),
    )


@pytest.fixture(scope="session")
def rows(faults: Campaign) -> dict[str, ProgramRow]:
    return {row.name: row for row in faults.programs}
