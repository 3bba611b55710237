"""Code that reads jaxprs or the flag is named with its line; JAX's own reads are not."""

import os
import subprocess
import weakref

import jax
import jax.numpy as jnp
import pytest
from jax.extend import core
from program_files import line_with, program_file

from parity_tests import targets
from parity_tests.observe import hazards
from parity_tests.observe.environment import FLAG
from parity_tests.observe.hazards.reads import in_form
from parity_tests.observe.hazards.traced_program import is_same_program
from parity_tests.observe.reads.recording import reads_reaching, recorded_import, recording
from parity_tests.program import from_function

WEIGHTS = jnp.arange(6.0)
PROGRAMS = program_file("trust/reads_jaxprs")


def subjects(read):
    with recording() as reads:
        read(jax.make_jaxpr(lambda x: x * WEIGHTS)(1.0))
    return {site.subject for site, _ in reads.log}


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda closed: closed.consts, {"consts"}),
        (lambda closed: closed.literals, {"consts"}),
        (lambda closed: closed.jaxpr.constvars, {"constvars"}),
        (lambda closed: closed.constvars, {"constvars"}),
        (lambda closed: closed.jaxpr.invars, {"invars"}),
        (lambda closed: closed.jaxpr.outvars, {"outvars"}),
        (lambda closed: closed.eqns[0].invars, {"equations", "operands"}),
        (lambda closed: len(closed.eqns), {"equations"}),
        (lambda closed: closed.eqns[0].params, {"equations", "params"}),
        (lambda closed: closed.in_avals, {"invars"}),
        (lambda closed: getattr(jax.config, FLAG), {"flag"}),
        (lambda closed: jax.config.values.get(FLAG), {"flag"}),
        (lambda closed: os.getenv(FLAG.upper()), {"flag"}),
        (lambda closed: os.environ[FLAG.upper()], {"flag"}),
        (lambda closed: jax.config.jax_enable_x64, set()),
        (lambda closed: os.getenv("HOME"), set()),
        (lambda closed: dict(os.environ), {"environment"}),
        (lambda closed: [value for _, value in os.environ.items()], {"environment"}),
        (lambda closed: {**os.environ.copy()}, {"environment"}),
        (lambda closed: list(os.environ), set()),
        (lambda closed: subprocess.run(["true"], check=True), {"environment"}),
        (lambda closed: subprocess.run(["true"], env={}, check=True), {"environment"}),
        (lambda closed: os.system("true"), {"environment"}),
        (lambda closed: str(closed), {"text"}),
        (lambda closed: f"{closed.eqns[0]}", {"equations", "text"}),
        (lambda closed: jax.config._read(FLAG), {"flag"}),
        (lambda closed: dict(jax.config.values), {"environment"}),
        (lambda closed: jax.config.values[FLAG], {"flag"}),
        (lambda closed: os.environb[FLAG.upper().encode()], {"flag"}),
        (lambda closed: eval(f"jax.config.{FLAG}"), {"flag"}),
        (lambda closed: core.jaxpr_as_fun(closed)(2.0), set()),
        (lambda closed: jax.jit(core.jaxpr_as_fun(closed)).lower(2.0), set()),
    ],
)
def test_what_is_read_by_code_that_is_not_jax(monkeypatch, read, found):
    monkeypatch.setenv(FLAG.upper(), "0")
    assert subjects(read) == found


def test_what_stood_there_before_stands_there_again():
    holder = jax.config._value_holders[FLAG]
    owners = (core.ClosedJaxpr, core.Jaxpr, core.JaxprEqn, type(jax.config), type(os.environ))
    owners += (type(holder),)
    before = [dict(vars(each)) for each in owners]
    with recording():
        assert [dict(vars(each)) for each in owners] != before
    with pytest.raises(ZeroDivisionError), recording():
        jax.make_jaxpr(lambda x: x / (1 // 0))(1.0)
    assert [dict(vars(each)) for each in owners] == before


def test_a_line_of_a_library_is_named_with_the_users_line_that_calls_it(tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"  # not Python's own, as of `pip install --user`
    packages.mkdir()
    (packages / "lib_that_reads.py").write_text(
        "def consts_of(closed):\n    return closed.consts\n"
    )
    monkeypatch.syspath_prepend(packages)
    import lib_that_reads

    def f(x):
        closed = jax.make_jaxpr(lambda y: y * WEIGHTS)(x)
        return x * len(lib_that_reads.consts_of(closed))

    [hazard] = hazards.detect(from_function(lambda: (f, (1.0,)), "here"))
    assert (hazard.file, hazard.line) == (str(packages / "lib_that_reads.py"), 2)
    assert f"test_jaxpr_reads.py:{f.__code__.co_firstlineno + 2}: in legacy it has 1" in hazard.what
    assert hazard.changes_program


def closed_in(fun, *args, simplified):
    with in_form(simplified):
        return jax.make_jaxpr(fun)(*args)


def nested(x):
    looped = jax.lax.scan(lambda c, _: (jnp.sin(c) * WEIGHTS, None), x, None, 3)[0]
    chosen = jax.lax.cond(x[0] > 0, lambda: WEIGHTS, lambda: -x)
    return jax.jit(lambda y: y @ WEIGHTS)(looped + chosen), WEIGHTS


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (nested, True),
        (lambda x: (nested(x)[0], WEIGHTS + 0), False),
        (lambda x: (nested(x)[0], WEIGHTS[::-1]), False),
        (lambda x: nested(x)[0], False),
        (lambda x: (nested(x), jnp.cos(x))[0], True),  # dead code
    ],
)
def test_one_program_in_two_forms(other, same):
    one = closed_in(nested, WEIGHTS, simplified=False)
    two = closed_in(other, WEIGHTS, simplified=True)
    assert len(one.consts) > 0
    assert len(two.consts) == 0
    assert is_same_program(one, two) is same


def test_scalars_and_parameters_count():
    def trace(fun, simplified):
        return closed_in(fun, WEIGHTS, simplified=simplified)

    captured = jnp.float32(2.0)
    assert is_same_program(
        trace(lambda x: x * captured, False), trace(lambda x: x * captured, True)
    )
    assert not is_same_program(trace(lambda x: x * 2, False), trace(lambda x: x * 3, True))
    assert not is_same_program(trace(lambda x: x**2, False), trace(lambda x: x**3, True))


def test_callbacks_count_by_their_code_and_what_they_capture():
    def trace(factor, simplified):
        out = jax.ShapeDtypeStruct((), "float32")
        return closed_in(
            lambda x: jax.pure_callback(lambda y: y * factor, out, x), 1.0, simplified=simplified
        )

    assert is_same_program(trace(2, False), trace(2, True))
    assert not is_same_program(trace(2, False), trace(3, True))


@pytest.fixture(scope="module")
def imported():
    with recorded_import(str(PROGRAMS)):
        return targets.load([str(PROGRAMS)])


@pytest.mark.parametrize(
    ("name", "subject", "line"),
    [
        ("counted_at_import", "consts", "AT_IMPORT = len"),
        ("flag_at_import", "flag", "FLAG_AT_IMPORT = "),
    ],
)
def test_a_read_at_import_reaches_the_programs_that_use_its_name(imported, name, subject, line):
    [(site, before, after)] = reads_reaching(f"{PROGRAMS}:{name}")
    assert site.subject == subject
    assert site.place.line == line_with(PROGRAMS, line)
    assert before != after


def test_a_read_at_import_does_not_reach_the_others(imported):
    reached = {each.name for each in imported if list(reads_reaching(each.target))}
    assert reached == {"counted_at_import", "flag_at_import"}


def test_a_recording_holds_no_stage_that_a_program_lets_go_of():
    with recording():
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        gone = weakref.ref(lowered)
        del lowered
        assert gone() is None
