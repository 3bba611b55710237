"""Tables as constant policies: which key matches which array, and what is refused."""

import itertools
import os
import subprocess
import sys
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from evidence import inlined_bytes
from profiled import frames_of

import engine
from engine.configuration.policy_table import read_table

SMALL = jnp.arange(4.0)
WEIGHTS = np.linspace(0.0, 1.0, 64, dtype=np.float32)
BIAS = np.linspace(1.0, 2.0, 64, dtype=np.float32)
SHIFT = np.arange(64, dtype=np.int32)


def captures_four(x):
    y = x * WEIGHTS  # the line of the weights
    return (y + BIAS + SHIFT).sum() + SMALL


def line_of(text):
    with open(__file__) as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


WEIGHTS_AT = f"test_policy_table.py:{line_of('# the line of the weights')}"
X = np.float32(2.0)


def lowered(policy):
    return engine.jit(captures_four, constants="simplified", constant_policy=policy).lower(X)


@pytest.mark.parametrize(
    ("table", "const_args", "inlined"),
    [
        ({}, 3, 0),
        ({"float32[64]": "inline"}, 1, 512),
        ({"int32[64]": "inline"}, 2, 256),
        ({WEIGHTS_AT: "inline"}, 2, 256),
        ({f"configuration/{WEIGHTS_AT}": "embed"}, 2, 256),
        ({f"float32[64] {WEIGHTS_AT}": "inline", "float32[64]": "hoist"}, 2, 256),
        ({"float32[64]": "inline", WEIGHTS_AT: None}, 2, 256),
        ({"float32[4]": "hoist"}, 4, 0),
        ({"float32[32]": "inline", "other.py:3": "inline"}, 3, 0),
    ],
)
def test_const_args_and_inlined_bytes(table, const_args, inlined):
    found = lowered(table)
    assert (len(found.const_args), inlined_bytes(found.as_text())) == (const_args, inlined)
    with engine.constant_policy(table):
        jitted = engine.jit(captures_four, constants="simplified")
        assert len(jitted.lower(X).const_args) == const_args
        np.testing.assert_allclose(jitted(X), captures_four(X), rtol=1e-5)


def constant(aval, *place):
    return SimpleNamespace(aval=aval, captured_at=lambda: (*place, "step") if place else None)


OF_MODEL = constant("float32[8,8]", "/home/me/models/model.py", 31)


@pytest.mark.parametrize(
    "key",
    [
        "float32[8,8]", "float32[8, 8]", " float32[8,8,] ", "model.py:31", "models/model.py:31",
        "./models/model.py:31", "/home/me/models/model.py:31", "float32[8,8] model.py:31",
        "float32[8,8]   me/models/model.py:031", "model.py:step", "float32[8,8] model.py:st*",
        "models/model.py:*",
    ],
)  # fmt: skip
def test_a_key_matches_an_array(key):
    assert read_table({key: "inline"}, "t")(OF_MODEL) == "inline"


@pytest.mark.parametrize(
    "key",
    [
        "float32[8]", "int32[8,8]", "model.py:3", "odel.py:31", "other/model.py:31",
        "home/me/models/model.py:32", "float32[8] model.py:31", "float32[8,8] model.py:32",
        "/models/model.py:31", "model.py:ste", "other/model.py:step", "model.py:Step",
    ],
)  # fmt: skip
def test_a_key_does_not_match_another_array(key):
    assert read_table({key: "inline"}, "t")(OF_MODEL) is None


def test_the_most_specific_key_decides_in_any_order():
    keys = [
        "float32[8,8]",
        "model.py:*",
        "model.py:s*",
        "model.py:step",
        "model.py:31",
        "models/model.py:*",
        "models/model.py:31",
        "float32[8,8] model.py:31",
        "float32[8,8] models/model.py:31",
    ]
    for weaker, stronger in itertools.pairwise(keys):
        for order in ([weaker, stronger], [stronger, weaker]):
            table = read_table({k: "inline" if k == stronger else "hoist" for k in order}, "t")
            assert table(OF_MODEL) == "inline", (weaker, stronger)


def test_an_array_that_no_equation_uses_has_no_place():
    table = read_table({"float32[8,8]": "inline", "model.py:31": "hoist"}, "t")
    assert table(constant("float32[8,8]")) == "inline"
    assert engine.jit(lambda x: (x, WEIGHTS), constants="simplified", constant_policy=table)(1.0)


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("key<fry>[2]", constant("key<fry>[2]")),
        ("bfloat16[3]", constant("bfloat16[3]")),
        ("int4[3]", constant("int4[3]")),
        ("float32<host>[8@x,2]{U:y}", constant("float32<host>[8@x,2]{U:y}")),
        ("float32[8] b c/d[1].py:4", constant("float32[8]", "/a/b c/d[1].py", 4)),
        ("d[1].py:4", constant("float32[8]", "/a/b c/d[1].py", 4)),
        ("01,a[1].py:4", constant("float32[8]", "/a/01,a[1].py", 4)),
        ("2026-11/a,b/01_c.py:4", constant("float32[8]", "/2026-11/a,b/01_c.py", 4)),
    ],
)
def test_types_of_jax_and_odd_paths_are_keys(key, named):
    assert read_table({key: "hoist"}, "t")(named) == "hoist"


@pytest.mark.parametrize(
    "key",
    ["", " ", "weights", "float32", "float32[]", "float32[a]", "f32[8]", "f[8]", "flaot32[8]",
     "float32[8] model.py", "model.py:", ":31", "float32[8] float32[8]", 3, None,
     "float32[8 8]", "float32[8;8]", "float32[8x8]", "float32[8,,8]", "float32[8,8]model.py:31",
     "1,x[8]"],
)  # fmt: skip
def test_an_unreadable_key_is_quoted(key):
    with pytest.raises(ValueError, match="has a key that cannot be read") as error:
        engine.jit(captures_four, constant_policy={"int32[64]": "inline", key: "inline"})
    assert repr(key) in str(error.value)
    assert "'float32[64,64] model.py:31'" in str(error.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"float32[8]": "inlined"}, "for 'float32[8]', got 'inlined'"),
        ({"float32[8]": True}, "for 'float32[8]', got True"),
        ({"float32[8, 8]": "inline", "float32[8,8]": "hoist"}, "two keys for 'float32[8,8]'"),
        ('{"float32[8]": "inline", "float32[8]": "hoist"}', "two keys for 'float32[8]'"),
        ('{"float32[8]": {"x": 1}}', "for 'float32[8]', got"),
        ('["float32[8]"]', "the text of one in JSON"),
        ('{"float32[8]"', "the text of one in JSON"),
        ("# why\n\ninline model.py:3", ":3: 'inline model.py:3' is not a choice, a key and"),
        ("# why\n\ninline model.py:3 #", ":3: 'inline model.py:3 #' is not a choice, a key and"),
        ("inline # why", ":1: 'inline # why' is not a choice, a key and a reason; write them as"),
        ("keep a.py:3  # why", ":1 must give 'inline', 'embed', 'hoist' or None for 'a.py:3'"),
        ("inline a.py:3  # why\nhoist a.py:03  # why", ":2 has two keys for 'a.py:3'"),
        ("inline a.py  # why", ":1 has a key that cannot be read, 'a.py'"),
    ],
)
def test_wrong_tables_are_refused(table, said):
    for give in (
        lambda: engine.jit(captures_four, constant_policy=table),
        lambda: engine.constant_policy(table),
        lambda: engine.config.update("constant_policy", table),
    ):
        with pytest.raises(ValueError, match=r"constant_policy[ :]") as error:
            give()
        assert said in str(error.value)


def test_a_table_may_be_lines_with_reasons():
    lines = f"""
    # the fused kernel of b.py needs it
    inline float32[64] {WEIGHTS_AT}  # until #1234 is fixed # and #5
      hoist b.py:f.<locals>.<lambda> # measured
    """
    same = {f"float32[64] {WEIGHTS_AT}": "inline", "b.py:f.<locals>.<lambda>": "hoist"}
    assert read_table(lines, "t") is read_table(same, "t")
    assert len(lowered(lines).const_args) == 2


def test_a_table_that_is_changed_afterwards_changes_nothing():
    table = {"float32[64]": "inline"}
    decorator = engine.jit(constants="simplified", constant_policy=table)
    jitted = engine.jit(captures_four, constants="simplified", constant_policy=table)
    with engine.constant_policy(table):
        table["float32[64]"] = "hoist"
        by_setting = engine.jit(captures_four, constants="simplified").lower(X)
    for found in (decorator(captures_four).lower(X), jitted.lower(X), by_setting):
        assert len(found.const_args) == 1


def test_equal_tables_are_one_cache_key():
    table = {"float32[64]": "inline", WEIGHTS_AT: "hoist"}
    same = read_table(dict(reversed(table.items())), "t")
    assert read_table(table, "t") is same
    assert eval(repr(same).removeprefix("PolicyTable(").removesuffix(")")) == table
    jitted = engine.jit(lambda x: captures_four(x), constants="simplified")

    def python_frames_of_a_call(policy):
        with engine.constant_policy(policy):
            return frames_of(jitted, X)

    assert python_frames_of_a_call(table) > 100
    assert python_frames_of_a_call(dict(table)) == python_frames_of_a_call(same) == 0
    assert python_frames_of_a_call({"float32[64]": "inline"}) > 100


def test_a_table_in_the_environment():
    def run(table):
        return subprocess.run(
            [sys.executable, "-c", "import engine; print(engine.config.constant_policy)"],
            env={**os.environ, "CONSTPARITY_CONSTANT_POLICY": table},
            capture_output=True,
            text=True,
            timeout=120,
        )

    done = run('{"float32[64]": "inline", "model.py:3": null}')
    assert done.stdout.strip() == "PolicyTable({'float32[64]': 'inline', 'model.py:3': None})"
    done = run("inline")
    assert done.returncode != 0
    assert "the environment variable CONSTPARITY_CONSTANT_POLICY must be" in done.stderr
