"""Each kind of hazard is found in a program, has a text that helps, and a row in the docs."""

import os
import re
from pathlib import Path
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.advice import advice
from parity_tests.observe import hazards
from parity_tests.observe.environment import FLAG
from parity_tests.program import from_function
from reports.rows import HazardKind
from reports.rows.flip import READS, TRAITS

KINDS = get_args(HazardKind)
VERDICTS = Path(__file__).parents[4] / "docs/understand/verdicts.md"
X = np.ones(64, np.float32)
HOST, TABLE = np.arange(64, dtype=np.float32), jnp.arange(64.0)
FIRST, SECOND = (jax.device_put(HOST, device) for device in jax.devices()[:2])


def of_constants(x):
    return x * len(jax.make_jaxpr(lambda y: y + TABLE)(1.0).consts)


def of_the_flag(x):
    return x * 2 if getattr(jax.config, FLAG) else x


def of_a_module(x):
    return x * jax.jit(lambda y: y + TABLE).lower(1.0).as_text().count("dense")


def of_the_environment(x):
    return x * 2 if dict(os.environ).get(FLAG.upper()) == "1" else x


# A program of each kind, its example argument, and the text that helps.
EXAMPLES = {
    "writeable NumPy array": (lambda x: x + HOST, X, advice("capture a copy")),
    "captured and donated": (
        jax.jit(lambda x: x + TABLE, donate_argnums=0), TABLE, advice("donated"),
    ),
    "incompatible devices": (lambda x: x + FIRST, SECOND, advice("same devices")),
    "implicit transfer": (lambda x: x + HOST, X, advice("on the device")),
    "placement of outputs": (lambda x: x + SECOND, X, advice("not committed")),
    "hoisted more than once": (lambda x: x * TABLE + TABLE, X, advice("pass once")),
    "folded by legacy alone": (lambda x: x + jnp.cumsum(TABLE), X, advice("compute once")),
    "reads jaxpr constants": (of_constants, 1.0, advice("evaluate")),
    "reads the flag": (of_the_flag, 1.0, advice("flag")),
    "reads lowered modules": (of_a_module, 1.0, advice("module")),
    "hands on the environment": (
        of_the_environment, 1.0, advice("environment", variable=FLAG.upper()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_found_and_told_what_helps(kind):
    function, argument, helps = EXAMPLES[kind]
    with jax.transfer_guard("disallow" if kind == "implicit transfer" else "allow"):
        found = hazards.detect(from_function(lambda: (function, (argument,)), kind))
    told = {(each.fix, " is read at " in each.what) for each in found if each.kind == kind}
    assert told == {(helps, kind in READS)}


def test_each_kind_has_traits_and_a_row_in_the_docs():
    table = VERDICTS.read_text("utf-8").partition("| hazard | legacy |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\w[^|]*) \|", table, re.MULTILINE)
    assert (tuple(TRAITS), tuple(rows)) == (KINDS, KINDS)
