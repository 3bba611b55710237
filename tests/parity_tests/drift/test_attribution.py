"""Drift on programs whose two modes differ for a known reason, and on rows written by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from program_files import line_with, program_file

import parity_tests
from parity_tests.advice import advice
from parity_tests.drift import equation_values
from parity_tests.drift.attribution import Drift, _Attribution, attribute, has_repeated
from parity_tests.drift.rerun import (
    FirstDifference,
    OutOfTimeError,
    Reruns,
    first_difference,
    warm_sides,
)
from parity_tests.drift.xla_passes_off import AS_IT_WAS, FOLDING_OFF, PASSES_OFF
from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import compare
from parity_tests.evidence.values import Value
from parity_tests.judge.findings import Findings
from parity_tests.judge.verdict import conclude
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import EquationValue, EquationValues, Job, Rerun
from parity_tests.program import from_function
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import (
    ArgumentLeaf,
    Comparison,
    Numbers,
    Observation,
    OutputLeaf,
    ProgramNumber,
    StageTimes,
)

PLANTED = program_file("planted_drift")
TABLE = np.linspace(0.0, 1.0, 8, dtype=np.float32)


@pytest.fixture(scope="module")
def rows():
    result = run.run(
        [str(PLANTED)],
        CampaignOptions(
            sides=("jax-legacy", "jax-simplified"),
            steady_calls=0,
            timeout=60.0,
            attribute=True,
        ),
    )
    return {row.name: row for row in result.programs}


def test_what_xla_folded_on_one_side_is_constant_folding_at_its_line(rows):
    [found] = rows["folded"].drift
    assert (found.left, found.right) == ("jax-legacy", "jax-simplified")
    assert found.cause == "constant folding"
    assert found.equation.startswith("exp, equation ")
    assert (
        "of the results of equations that constants go into, the first that differs"
        in found.evidence
    )
    assert found.line == line_with(PLANTED, "    table = jnp.exp(jnp.asarray(RAMP))")
    reason = rows["folded"].flip.reasons[0]
    assert reason.outcome == "numerics drift, explained"
    assert "cause: constant folding" in reason.what
    assert reason.where.endswith(f"planted_drift.py:{found.line}")


def test_the_line_that_is_named_is_one_that_the_worst_output_depends_on(rows):
    row = rows["rounded_beside_what_is_wrong"]
    [found] = row.drift
    assert "mismatch at [1]" in row.flip.reasons[0].what
    assert "the first that differs and that [1] depends on is that of log, equation" in (
        found.evidence
    )
    assert found.line == line_with(PLANTED, "    wrong = jnp.log(jnp.asarray(RAMP)) == jnp.log(x)")


def test_what_llvm_folds_on_one_side_is_constant_folding(rows):
    """No flag of XLA keeps LLVM from it: 0 / 0 is a NaN of the other sign there."""
    [found] = rows["sign_of_a_nan"].drift
    assert found.cause == "constant folding"
    # With jaxlib 0.10.2 it is folded behind XLA's barriers as well; from 0.11.2 on it is not.
    hidden = "constant folding off and captured arrays behind optimization barriers"
    if jax.__version_info__ < (0, 11):
        hidden = "the captured arrays as arguments"
    assert found.evidence.startswith(f"bitwise equal with {hidden}")
    assert found.line == line_with(PLANTED, "    nan = jnp.asarray(ZEROS) / jnp.asarray(ZEROS)")
    assert rows["sign_of_a_nan"].flip.outcome == "different"


def test_a_side_that_the_arbiter_finds_wrong_is_no_bug_where_folding_explains_it(rows):
    [found] = rows["equal_to_what_is_folded"].drift
    assert found.cause == "constant folding"
    assert "jax-legacy is wrong at the only output" in found.evidence
    assert found.wrong is None  # the program magnifies a rounding of the logarithm
    assert found.line == line_with(PLANTED, "    same = jnp.log(jnp.asarray(RAMP)) == jnp.log(x)")
    [reason] = (
        each for each in rows["equal_to_what_is_folded"].flip.reasons if each.kind == "outputs"
    )
    assert reason.outcome == "different"
    assert reason.action == advice("folded beyond")


@pytest.mark.parametrize("delivers", [True, False])
def test_arrays_that_a_side_gives_other_bits_of_are_no_arguments(monkeypatch, delivers):
    """As arguments they would hide a fault in how the side captures arrays."""
    handed, array = equation_values._Handed(), np.arange(3.0)
    assert handed(array) is array
    given = array if delivers else array + 1
    monkeypatch.setattr(equation_values, "jitted_on", lambda *_: lambda: (given,))
    assert handed.delivered_by("legacy") == ((array,) if delivers else ())


def test_two_programs_are_no_bug_and_are_placed_at_their_line_and_not_at_what_is_folded_before(
    rows,
):
    [found] = rows["other_after_folding"].drift
    assert found.cause == "another program"
    assert found.evidence.startswith("the two forms part; ")
    assert found.line == line_with(PLANTED, "    return y * 1.001 if SIMPLIFIED else y")


@pytest.mark.parametrize(
    ("cause", "verdict"), [("a bug", "difference"), ("constant folding", "parity")]
)
def test_a_bug_is_a_difference_within_whatever_tolerance(rows, cause, verdict):
    row = rows["folded"]  # equal by the ladder, and not bitwise
    found = row.drift[0].model_copy(update={"cause": cause})
    again = conclude(Findings(row.observations, row.comparisons, drift=(found,)))
    assert (again.verdict, len(again.reasons) - len(row.reasons)) == (
        verdict, int(cause == "a bug"),
    )  # fmt: skip


def test_two_programs_that_are_not_one_are_told_at_their_line(rows):
    [found] = rows["other_value"].drift
    assert found.cause == "another program"
    assert "jax-legacy is nearer to the truth" in found.evidence
    assert found.equation == "mul, equation 0"
    assert found.line == line_with(PLANTED, "    return x * (1.5 if SIMPLIFIED else 1.0)")
    assert rows["other_value"].flip.outcome == "different"


def test_a_program_that_does_not_repeat_itself_is_not_attributed(rows):
    assert rows["other_bits_every_time"].verdict == "not repeatable"
    assert rows["other_bits_every_time"].drift == ()


def test_a_side_with_other_bits_in_its_second_run_is_not_attributed(tmp_path, monkeypatch):
    """Within rounding no campaign runs a program again; the attribution does, and sees it."""
    of_legacy, of_simplified, again = (Value("", np.float32(each)) for each in (1.0, 1.5, 1.25))
    monkeypatch.setattr(Reruns, "outputs", lambda *_: ((again,), (of_simplified,)))
    sides = (
        Evidence(Observation(program="p", side=side), (value,))
        for side, value in (("jax-legacy", of_legacy), ("jax-simplified", of_simplified))
    )
    job = Job(number=0, name="p", target="m:p")
    with warm_sides(tmp_path, Limits(1.0), 1.0) as warm:
        found = attribute(Drift(job, *sides, "ulp"), tmp_path, warm)
    assert (found.cause, found.unrepeated) == ("not attributed", True)
    assert "jax-legacy gave other bits when it was run again" in found.evidence


def test_sides_that_were_called_with_other_arguments_are_not_run_again(tmp_path):
    sides = (
        Evidence(
            Observation(
                program="p",
                side=side,
                arguments=(ArgumentLeaf(path="x", shape=(), dtype="float32", sha256=side),),
            ),
            (),
        )
        for side in ("jax-legacy", "jax-simplified")
    )
    job = Job(number=0, name="p", target="m:p")
    found = attribute(Drift(job, *sides, "mismatch"), tmp_path, warm=None)
    assert found.cause == "not attributed"
    assert found.evidence.endswith("other arguments: argument x float32[] has other values")


def recorded(program, side, equations):
    return equation_values.run(program, side, Rerun(number=0, target="", equations=equations))


@pytest.mark.parametrize("side", ["jax-legacy", "legacy", "simplified"])
def test_equations_that_constants_go_into_are_those_that_xla_may_rewrite(side):
    def fun(x):
        table = jnp.exp(TABLE)
        total = table.sum()
        inner = jax.jit(lambda y: (jnp.cos(TABLE), y * 2.0))
        kept, twice = inner(x)
        _, rows = jax.lax.scan(lambda carry, _: (carry, carry * TABLE), x, None, length=3)
        return jnp.dot(table, kept) + jnp.sin(twice) / total + rows.sum()

    program = from_function(parity_tests.program(args=(np.float32(1.0),))(fun), "m:fun")
    every = recorded(program, side, "all").equations.equations
    assert {"sin", "mul", "add"} < {each.primitive for each in every}
    found = recorded(program, side, "constants")
    kept = found.equations.equations
    assert [each.primitive for each in kept] == [
        "exp", "reduce_sum", "cos", "scan", "dot_general", "div", "add",
    ]  # fmt: skip
    assert {each.position for each in kept} < {each.position for each in every}
    assert found.outputs == ()
    assert found.staging > 0
    np.testing.assert_allclose(found.arrays[0].array, np.exp(TABLE), rtol=1e-6)


@pytest.mark.parametrize(
    ("output", "needed"),
    [
        ("['body']", {"sin", "mul"}),
        ("['loop']", {"cos", "scan"}),
        ("['reference']", {"tan", "swap", "get", "debug_callback"}),
        ("['gone']", {"sin", "mul", "cos", "scan", "tan", "swap", "get", "debug_callback"}),
    ],
)
def test_equations_are_marked_by_whether_the_output_depends_on_them(output, needed):
    """Each result needs all operands, and what has effects needs whatever has any."""

    def fun(x):
        kept = jax.new_ref(x)
        inner, _ = jax.jit(lambda y: (jnp.sin(y) * 2.0, jnp.exp(y)))(x)
        loop, _ = jax.lax.scan(lambda carry, _: (carry * 2.0, None), jnp.cos(x), None, length=3)
        kept[...] = jnp.tan(x)
        jax.debug.callback(lambda y: None, x)
        return {"body": inner, "loop": loop, "reference": kept[...]}

    program = from_function(parity_tests.program(args=(np.float32(1.0),))(fun), "m:fun")
    order = Rerun(number=0, target="", equations="all", output=output)
    found = equation_values.run(program, "jax-legacy", order).equations.equations
    assert "exp" in {each.primitive for each in found}
    marked = {each.primitive for each in found if each.is_needed}
    assert marked - {"new_ref", "ref"} == needed


@pytest.mark.parametrize("keep", ["constants", "all"])
def test_references_are_no_results(keep):
    """They are captured, and made within; what is read of them is a result."""
    captured = jax.new_ref(jnp.asarray(TABLE))

    def fun(x):
        own = jax.new_ref(jnp.exp(TABLE))
        own[...] = own[...] * x
        return own[...] + captured[...]

    program = from_function(parity_tests.program(args=(np.float32(2.0),))(fun), "m:fun")
    found = recorded(program, "jax-legacy", keep)
    names = [each.primitive for each in found.equations.equations]
    assert names[0] == "exp"
    assert ("get" in names) == (keep == "all")


class Runs:
    """Two sides that agree without constant folding; unchanged, the left one gives `again`.

    The left side `alone` has the bits of the right one then, or both have others; without `agrees`
    they differ. Of the equations that `sees` names, "constants" or "all", one differs.
    """

    def __init__(
        self, sees="constants", again=1.0, alone=True, agrees=True, is_out_of_time=False, fresh=()
    ):
        self.sees, self.again, self.alone, self.agrees = sees, again, alone, agrees
        self.is_out_of_time, self.fresh, self.asked = is_out_of_time, fresh, []

    def outputs(self, off, sides=()):
        self.asked.append(" on ".join([off.what, *sides]))
        if off == AS_IT_WAS and self.is_out_of_time:
            raise OutOfTimeError("it took too long")
        if not sides:
            return [self._value(self.again if off == AS_IT_WAS else 1.25), self._value(1.5)]
        is_as_before = self.alone or (sides == ["jax-simplified"] and not self.agrees)
        return [self._value(1.5 if is_as_before else 1.25)]

    def _value(self, number):
        return (Value("", np.float32(number)),)

    def first_with_constant(self):
        return self._first("constants")

    def first_equation(self):
        return self._first("all")

    def _first(self, which):
        self.asked.append(which)
        return FirstDifference(which, equation(0) if self.sees == which else None)

    def start_afresh(self):
        """Have processes in which the left side gives `fresh`, and an equation differs."""
        if not self.fresh:
            return False
        self.again, self.fresh, self.sees = self.fresh, (), "all"
        return True


def attributed(runs, repeated, compiling=0.1, digests="dd"):
    times = StageTimes(
        trace=0.1, lower=0.1, compile=compiling, first_call=0.1, call=None, call_samples=0
    )
    sides = (
        Evidence(
            Observation(
                program="p", side=side, times=times,
                numbers=Numbers(jaxpr=ProgramNumber(digest=digest)),
            ),
            (Value("", np.float32(value)),),
        )
        for side, value, digest in zip(
            ("jax-legacy", "jax-simplified"), (1.0, 1.5), digests, strict=True
        )
    )  # fmt: skip
    job = Job(number=0, name="p", target="m:p")
    return _Attribution(Drift(job, *sides, "ulp", has_repeated=repeated), runs).find()


def test_forms_that_part_are_the_cause_of_a_drift_that_no_pass_explains():
    found = attributed(Runs(alone=False, agrees=False), repeated=True, digests="de")
    assert found.cause == "another program"
    assert found.evidence.startswith("the two forms part; the outputs differ in every run")


@pytest.mark.parametrize(("dtype", "is_told"), [("float32", True), ("float64", False)])
def test_a_side_in_double_precision_is_not_told_wrong_by_a_run_in_it(dtype, is_told):
    leaf = OutputLeaf(path="", shape=(), dtype=dtype, weak_type=False, sha256="")
    sides = (
        Evidence(
            Observation(program="p", side=side, outputs=(leaf,)),
            (Value("", np.asarray(value, dtype)),),
        )
        for side, value in (("jax-legacy", 1.0), ("jax-simplified", 1.5))
    )
    truth = (Value("", np.float64(1.5)),)
    drift = Drift(Job(number=0, name="p", target="m:p"), *sides, "mismatch", truth=truth)
    found = _Attribution(drift, Runs()).find()
    assert ("jax-legacy is wrong at the only output" in found.evidence) == is_told


@pytest.mark.parametrize(
    ("repeated", "sees", "runs_unchanged"),
    [(False, "constants", True), (True, "constants", False), (True, "all", True), (True, "", True)],
)
def test_what_both_pipelines_show_runs_unchanged_only_where_no_equation_differs(
    repeated, sees, runs_unchanged
):
    runs = Runs(sees)
    assert attributed(runs, repeated).cause == "constant folding"
    assert ("as it was" in runs.asked) == runs_unchanged


@pytest.mark.parametrize("repeated", [True, False])
def test_a_difference_that_is_not_there_again_has_no_cause(repeated):
    found = attributed(Runs(sees="", again=1.5), repeated)
    assert (found.cause, found.unrepeated) == ("not attributed", True)


def test_a_cause_stands_where_the_time_is_over_before_both_sides_have_run_unchanged():
    found = attributed(Runs(sees="", is_out_of_time=True), repeated=True)
    assert found.cause == "constant folding"
    assert "not run unchanged: it took too long" in found.evidence


@pytest.mark.parametrize("agrees", [True, False])
def test_what_other_programs_left_in_the_processes_names_no_equation(agrees):
    runs = Runs(sees="", again=1.25, fresh=1.0, alone=agrees, agrees=agrees)
    found = attributed(runs, repeated=True)
    cause = "constant folding" if agrees else "not attributed"
    assert (found.cause, found.equation) == (cause, "mul, equation 0")
    assert runs.asked.count("as it was") == 2


def test_one_side_without_folding_that_has_the_bits_of_the_other_is_enough():
    runs = Runs()
    found = attributed(runs, repeated=True)
    assert runs.asked == ["constant folding off on jax-legacy", "constants"]
    assert "on jax-legacy alone" in found.evidence


@pytest.mark.parametrize("repeated", [True, False])
def test_of_a_program_that_compiles_for_long_nothing_runs_as_before_when_the_cause_is_known(
    repeated,
):
    runs = Runs()
    found = attributed(runs, repeated, compiling=29.0)
    assert runs.asked == ["constant folding off on jax-legacy"]
    assert (found.cause, found.equation) == ("constant folding", "")
    assert found.evidence.endswith("; no equation is named, for to compile as before takes 29 s")


@pytest.mark.parametrize(("again", "unrepeated"), [(1.0, False), (1.25, True)])
def test_a_program_that_compiles_for_long_runs_as_before_where_the_cause_is_not_known(
    again, unrepeated
):
    runs = Runs(again=again, alone=False, agrees=False)
    found = attributed(runs, repeated=False, compiling=29.0)
    assert runs.asked[-1] == "as it was"
    assert (found.cause, found.unrepeated, found.out_of_time) == (
        "not attributed", unrepeated, False,
    )  # fmt: skip


def test_a_cause_that_is_not_found_in_time_is_said_as_that():
    runs = Runs(alone=False, agrees=False, is_out_of_time=True)
    found = attributed(runs, repeated=False, compiling=29.0)
    assert (found.cause, found.out_of_time) == ("not attributed", True)
    assert found.evidence == "it took too long"


def test_where_one_side_is_not_enough_the_other_one_runs_without_folding_too():
    runs = Runs(sees="all", alone=False)
    found = attributed(runs, repeated=True)
    one, more = FOLDING_OFF.what, PASSES_OFF[1].what
    on_one_side = [f"{one} on jax-legacy", f"{more} on jax-legacy", f"{one} on jax-simplified"]
    assert runs.asked == [*on_one_side, "constants", "as it was", "all"]
    assert (found.cause, "alone" in found.evidence) == ("constant folding", False)


def test_each_mode_has_repeated_itself_where_both_sides_of_it_have_the_same_bits():
    def row(left, right, other=1.0, metric="outputs", outcome="equal"):
        leaf = compare("", np.float32(1.0), np.float32(other))
        return Comparison(
            metric=metric, left=left, right=right, outcome=outcome, left_value="", right_value="",
            leaves=(leaf,) if outcome == "equal" else (),
        )  # fmt: skip

    flip = ("jax-legacy", "jax-simplified")
    legacy, simplified = row("legacy", "jax-legacy"), row("simplified", "jax-simplified")
    assert has_repeated([legacy, simplified], flip)
    assert has_repeated([legacy, simplified], ("legacy", "simplified"))
    assert not has_repeated([legacy], flip)
    assert not has_repeated([legacy, row(*flip)], flip)
    assert not has_repeated([legacy, row("simplified", "jax-simplified", 1.0000001)], flip)
    failed = row("simplified", "jax-simplified", outcome="not compared")
    assert not has_repeated([legacy, failed], flip)
    of_another = row("simplified", "jax-simplified", metric="exported outputs")
    assert not has_repeated([legacy, of_another], flip)


def equation(number, **changes):
    known = {
        "primitive": "mul", "position": (number,), "file": "model.py", "line": number + 1,
        "written": "f32[] -> f32[]", "saved": (number,),
    }  # fmt: skip
    return EquationValue(**{**known, **changes})


def first(left, right, *values, output=""):
    arrays = [[Value("", np.float32(each)) for each in of] for of in values]
    sides = (EquationValues(equations=tuple(each)) for each in (left, right))
    return first_difference(*sides, *arrays, output=output)


def test_the_first_equation_that_differs_is_named():
    both = [equation(0), equation(1), equation(2)]
    found = first(both, both, [1, 2, 3], [1, 2.5, 4])
    assert found.equation == both[1]
    assert found.written == ""
    assert first(both, both, [1, 2, 3], [1, 2, 3]).equation is None


def test_an_equation_that_the_output_does_not_depend_on_is_not_named():
    both = [equation(0, is_needed=False), equation(1), equation(2, is_needed=False)]
    assert first(both, both, [1, 2, 3], [2, 2.5, 3]).equation == both[1]
    found = first(both, both, [1, 2, 3], [2, 2, 4], output="[1]")
    assert (found.equation, found.said) == (
        None, "the outputs differ, and no result of an equation that [1] depends on does",
    )  # fmt: skip
    other = [equation(0, primitive="add", is_needed=False)]
    found = first(both, other, [1, 2, 3], [1])
    assert (found.equation, found.misfit) == (None, True)


def test_equations_that_do_not_correspond_are_named_and_not_compared():
    others = [equation(0), equation(1, primitive="add")]
    found = first([equation(0), equation(1)], others, [1, 2], [1, 3])
    assert found.misfit
    assert found.equation.primitive == "add"
    assert "only up to mul, equation 1 on the one and add, equation 1" in found.said


def test_an_equation_that_one_side_has_alone_is_named():
    found = first([equation(0)], [equation(0), equation(1, primitive="add")], [1], [1, 3])
    assert (found.misfit, found.equation.primitive) == (True, "add")


def test_what_is_written_otherwise_is_told():
    other = [equation(0, written="f32[] 2 -> f32[]")]
    found = first([equation(0)], other, [1], [2])
    assert found.written == "f32[] -> f32[] against f32[] 2 -> f32[]"
