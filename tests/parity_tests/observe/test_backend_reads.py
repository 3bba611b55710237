"""A program whose trace reads the backend is the program of this platform, and of no other."""

import re
import sys

import jax
import pytest
from program_files import line_with, program_file

from parity_tests import targets
from parity_tests.judge.proofs import claims_of
from parity_tests.observe import measure
from parity_tests.observe.reads import backend
from parity_tests.observe.reads.recording import recorded_import
from reports.rows.claims import answer_of

FILE = program_file("reads_the_backend")
READING = [
    "at_import", "in_a_function_that_is_shared", "and_again", "when_it_is_built", "asks_an_array",
    "asks_the_backend", "kept_devices", "asks_through_a_kernel_of_jax", "into_a_mapping",
    "asks_for_one_that_is_not_here", "asks_an_export", "looks_at_a_device", "asks_a_setting",
    "asks_a_variable", "from_a_cache", "again_from_a_cache", "asks_pallas",
    "derives_random_numbers",
]  # fmt: skip


def numbered(name, file=FILE):
    """Number a program of a file for other platforms, as a process of a side does."""
    target = f"{file}:{name}"
    with recorded_import(target):
        program = targets.load_one(target)
    return measure.number(program, "jax-legacy", platforms=("cpu", "tpu"))


@pytest.mark.parametrize("name", READING)
def test_the_line_that_reads_the_backend_is_why_another_platform_is_undecided(name):
    numbered("in_a_function_that_is_shared")  # whose trace JAX keeps
    numbered("from_a_cache")  # that the program keeps
    observed = numbered(name)
    modules = observed.numbers.modules
    read = re.fullmatch(
        r"it reads the backend \(.*the_backend\.py:(\d+)\), so it may be another program on tpu",
        modules["tpu"].undecided,
    )
    assert int(read[1]) == line_with(FILE, name if "again" in name else f"# {name}")
    assert modules["cpu"].digest == modules[""].digest != ""
    claims = claims_of(observed, observed.model_copy(update={"side": "jax-simplified"}))
    assert [each.answer for each in claims] == ["proved", "proved", "proved", "undecided"]
    assert answer_of(claims) == "undecided"


def test_devices_that_jax_keeps_are_read_by_the_first_program_of_a_process_too(monkeypatch):
    monkeypatch.setattr(backend, "_in_traces", {})
    jax.local_devices()
    assert numbered("kept_devices").numbers.modules["tpu"].traced_for_here


def test_a_thread_that_has_nothing_but_the_question_is_of_a_program():
    undecided = numbered("asks_in_a_thread").numbers.modules["tpu"].undecided
    assert "so it may be another program on tpu" in undecided


@pytest.mark.parametrize("imported", ["import shared_by_two as s", "from shared_by_two import *"])
def test_what_a_module_read_that_another_program_imported_is_read_by_all_that_import_it(
    imported, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shared_by_two", raising=False)
    (tmp_path / "shared_by_two.py").write_text("import jax\nCOUNT = jax.device_count()\n")
    lines = [
        "import jax.numpy as jnp", "from parity_tests import program", imported,
        f"count = lambda: {'s.' if ' as ' in imported else ''}COUNT",
        "@program(args=(jnp.ones(3),))", "def by_count(x): return x * count()",
        "@program(args=(jnp.ones(3),))", "def by_two(x): return x * 2",
    ]  # fmt: skip
    for name in ("first", "second"):
        file = tmp_path / f"{name}.py"
        file.write_text("\n".join(lines))
        assert numbered("by_count", file).numbers.modules["tpu"].traced_for_here
    known = numbered("by_two", file).numbers.modules["tpu"].traced_for_here
    assert known == (imported == "from shared_by_two import *")  # any name may be of the module


def test_of_a_name_that_is_bound_otherwise_it_is_not_known_what_it_depends_on(tmp_path):
    file = tmp_path / "bound_otherwise.py"
    file.write_text("""
import jax, jax.numpy as jnp
from parity_tests import program
COUNT = jax.device_count()
def scaled(x): return x * COUNT
def keep():
    global KEPT
    KEPT = jax.device_count()
keep()
@program(args=(jnp.ones(3),))
def by_what_is_kept(x): return x * KEPT
globals()["by_count"] = program(args=(jnp.ones(3),))(scaled)
@program(args=(jnp.ones(3),))
def by_two(x): return x * 2
""")
    names = ("by_count", "by_what_is_kept", "by_two")
    of = [numbered(name, file).numbers.modules["tpu"].traced_for_here for name in names]
    assert of == [True, True, False]


@pytest.mark.parametrize("name", ["has_a_branch_for_each", "asks_nothing"])
def test_what_jax_itself_asks_decides_nothing(name):
    assert numbered(name).numbers.modules["tpu"].digest
