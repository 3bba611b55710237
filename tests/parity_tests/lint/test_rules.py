"""Each rule finds what it is for, at its place, and nothing that only looks like it."""

import libcst as cst
import pytest
from lint_examples import FOUND, HEAD, SILENT

from parity_tests.lint.records import Confidence
from parity_tests.lint.rules import CODES, RULES
from parity_tests.lint.run import lint_source


def lines_of(code, text):
    return sorted({match.place.line for each, match in lint_source(text.encode(), [code])})


@pytest.mark.parametrize(
    ("code", "example"), [(code, each) for code, many in FOUND.items() for each in many]
)
def test_a_rule_finds_its_examples(code, example):
    text = HEAD + example + "\n"
    expected = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    assert expected
    assert lines_of(code, text) == expected


@pytest.mark.parametrize(
    ("code", "example"), [(code, each) for code, many in SILENT.items() for each in many]
)
def test_a_rule_is_silent_about_what_looks_alike(code, example):
    assert lines_of(code, HEAD + example + "\n") == []


def test_every_rule_has_both_and_an_explanation():
    codes = {rule.code for rule in RULES}
    assert set(FOUND) == codes
    assert set(SILENT) == codes
    for rule in RULES:
        assert "What to do:" in rule.explanation
        assert max(map(len, rule.explanation.splitlines())) <= 100
        assert len(rule.title) < 80


def test_codes_are_in_order_and_used_once():
    assert list(CODES) == sorted(set(CODES))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_messages_are_one_line(rule):
    for example in FOUND[rule.code]:
        for _, match in lint_source((HEAD + example).encode(), [rule.code]):
            assert "\n" not in match.message
            assert len(match.message) < 160


@pytest.mark.parametrize(
    "head",
    [
        "from jax.extend.core import ClosedJaxpr as C\ndef g(j: C): return len(j.consts)",
        "import jax.extend as jx\ndef g(j: jx.core.ClosedJaxpr): return len(j.consts)",
        "import jax\nmk = jax.make_jaxpr\ndef g(f): return len(mk(f)(1).consts)",
        "import jax\nimport equinox as eqx\ndef g(f):\n"
        "    closed, _, _ = eqx.filter_make_jaxpr(f)(1)\n    return len(closed.consts)",
        "import jax\nclass A:\n    def __init__(self, f): self.c = jax.make_jaxpr(f)(1)\n"
        "    def n(self): return len(self.c.consts)",
        "import jax\ndef g(eqn): return [len(b.consts) for b in eqn.params['branches']]",
        "import jax\ndef g(f):\n    for eqn in jax.make_jaxpr(f)(1).eqns:\n"
        "        inner = eqn.params['call_jaxpr']\n        len(inner.consts)",
    ],
)
def test_a_jaxpr_is_known_by_where_it_comes_from(head):
    assert lint_source(head.encode(), ["CP101"])


@pytest.mark.parametrize(
    ("line", "count"), [("fun(consts, x)", 0), ("consts = jax.device_put(consts, device)", 1)]
)
def test_where_captured_arrays_go_is_told_apart_with_low_confidence(line, count):
    text = f"{HEAD}consts, fun = jax.jit(f).trace(x).closure_convert()\n{line}\n"
    assert len(lint_source(text.encode(), ["CP109"], Confidence.LOW)) == count
    assert lint_source(text.encode(), ["CP109"]) == []


def test_a_file_without_jax_is_not_parsed(monkeypatch):
    monkeypatch.setattr(cst, "parse_module", None)
    assert lint_source(b"def f(jaxpr): return len(jaxpr.consts.literals)".replace(b"jax", b"j"),
                       CODES) == []  # fmt: skip


def test_all_rules_read_their_examples():
    """What one rule looks for is no obstacle for another."""
    for many in (*FOUND.values(), *SILENT.values()):
        for example in many:
            lint_source((HEAD + example).encode(), CODES)
