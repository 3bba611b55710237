"""Two programs are compared by lines, up to the names of variables."""

from __future__ import annotations

import pytest

from reports.views import differences
from reports.views.differences import PrintedProgram

LEGACY = """{ lambda b:f32[8]; a:f32[8]. let
    c:f32[8] = mul a b
    d:f32[8] = sub c a
    e:f32[8] = add d c
  in (e,) }"""
SIMPLIFIED = """{ lambda ; b:f32[8]. let
    d:f32[8] = mul b [...]:f32[8]
    a:f32[8] = sub d b
    c:f32[8] = add a d
  in (c,) }"""


def made(before, after, is_jaxpr=True, **lost):
    return differences.difference(
        "Jaxprs", PrintedProgram("legacy", before, **lost), PrintedProgram("simplified", after),
        is_jaxpr,
    )  # fmt: skip


def kinds(found):
    return [row.kind for part in found.parts for row in part.rows]


def test_other_names_alone_are_no_difference():
    found = made(LEGACY, SIMPLIFIED)
    assert kinds(found) == ["changed", "changed", "equal", "equal", "equal"]
    assert found.summary == (
        "2 lines differ, 3 are equal or differ in the names of variables alone."
    )
    assert not found.equal


def test_swapped_operands_are_a_difference():
    swapped = SIMPLIFIED.replace("sub d b", "sub b d")
    assert kinds(made(LEGACY, swapped)) == ["changed", "changed", "changed", "equal", "equal"]


def test_another_result_is_a_difference():
    other = SIMPLIFIED.replace("in (c,)", "in (a,)")
    assert kinds(made(LEGACY, other))[-1] == "changed"


def test_a_primitive_may_be_called_as_a_variable_is():
    before = "{ lambda ; a:f32[]. let\n  add:f32[] = add a a\n in (add,) }"
    after = "{ lambda ; a:f32[]. let\n  add:f32[] = sub a a\n in (add,) }"
    assert kinds(made(before, after)) == ["equal", "changed", "equal"]


def test_the_parts_of_a_line_that_differ_are_marked():
    [_, row, *_] = [row for part in made(LEGACY, SIMPLIFIED).parts for row in part.rows]
    assert "".join(text for text, _ in row.left) == "    c:f32[8] = mul a b"
    assert ("mul", True) not in row.left
    assert any(differs for _, differs in row.right)


MODULE = """module @jit_f {
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %cst = stablehlo.constant dense_resource<__elided__> : tensor<8xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<8xf32>
    %1 = stablehlo.tanh %0 : tensor<8xf32>
    %2 = call @g(%1) : (tensor<8xf32>) -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
  func.func private @g(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
}"""


def test_modules_are_aligned_though_their_arguments_are_numbered_anew():
    after = MODULE.replace("%arg0, %cst", "%arg1, %arg0").replace(
        "@main(%arg0: tensor<8xf32>)",
        "@main(%arg0: tensor<8xf32> {jax.const = true}, %arg1: tensor<8xf32>)",
    )
    after = "\n".join(line for line in after.splitlines() if "%cst =" not in line)
    found = made(MODULE, after, is_jaxpr=False)
    assert [kind for kind in kinds(found) if kind != "equal"] == ["changed", "removed"]
    assert found.parts[-1].folded  # far from what differs


def test_a_function_begins_with_names_of_its_own():
    after = MODULE.replace("@g(%arg0", "@g(%arg7").replace("return %arg0", "return %arg7")
    assert made(MODULE, after, is_jaxpr=False).equal


def test_one_side_alone():
    found = made("", MODULE, is_jaxpr=False, lost="no text, for the side failed before")
    assert set(kinds(found)) == {"added"}
    assert found.notice == "legacy: no text, for the side failed before"


def test_two_equal_texts():
    found = made(LEGACY, LEGACY)
    assert found.equal
    assert found.summary == "0 lines differ, 5 are equal."


@pytest.mark.parametrize("lines", [2_000])
def test_long_texts_are_cut_and_say_so(lines):
    before = "\n".join(f"  a:f32[] = sin[n={n}] a" for n in range(lines))
    after = "\n".join(f"  a:f32[] = cos[n={n}] a" for n in range(lines))
    found = made(before, after)
    assert len(kinds(found)) == differences.MAX_ROWS
    assert found.notice == "1,400 more lines are left out here; the JSON has them"
    assert found.summary == "2,000 lines differ, 0 are equal."


def test_a_line_of_a_megabyte_is_cut():
    found = made("a" * 1_000_000, "b" * 1_000_000)
    [row] = [row for part in found.parts for row in part.rows]
    assert sum(len(text) for text, _ in row.left) < 500


def test_many_equal_lines_take_no_time():
    # Quadratic in the number of lines, the matcher would take minutes.
    line = "    preferred_element_type=float32"
    before, after = ["x"] + [line] * 1_500 + ["y"], ["z"] + [line] * 1_500 + ["w"]
    assert kinds(made("\n".join(before), "\n".join(after))).count("changed") >= 1
