"""Comments silence findings on their line, and are reported where they silence nothing."""

import pytest

from parity_tests.lint.ignores import ignores_in
from parity_tests.lint.rules import CODES
from parity_tests.lint.run import lint_source

SOURCE = "import jax\nprint(len(jax.make_jaxpr(f)(x).consts))"


def found(comment, codes=CODES):
    return [
        (code, match.place.line)
        for code, match in lint_source(f"{SOURCE}{comment}".encode(), codes)
    ]


@pytest.mark.parametrize(
    "comment",
    [
        "  # constparity: ignore[CP101]",
        "  # constparity:ignore[CP101]",
        "  # constparity: ignore",
        "  # noqa: E501  # constparity: ignore[CP101]",
    ],
)
def test_a_comment_silences_its_line(comment):
    assert found("") == [("CP101", 2)]
    assert found(comment) == []


def test_only_its_line_and_its_codes():
    assert found("  # constparity: ignore[CP102]") == [("CP101", 2), ("CP001", 2)]
    assert found("\n# constparity: ignore[CP101]") == [("CP101", 2), ("CP001", 3)]


def test_each_unused_code_is_reported():
    assert found("  # constparity: ignore[CP101, CP103]") == [("CP001", 2)]
    assert found("\nx = 1  # constparity: ignore") == [("CP101", 2), ("CP001", 3)]


def test_a_code_that_is_no_rule_is_reported():
    [(code, match)] = lint_source(b"x = 1  # constparity: ignore[CP999]", CODES)
    assert code == "CP001"
    assert "no rule CP999" in match.message


def test_what_was_not_looked_for_is_not_unused():
    assert found("  # constparity: ignore[CP101]", ["CP001", "CP103"]) == []
    assert found("  # constparity: ignore", ["CP001", "CP103"]) == []


def test_a_text_is_no_comment():
    assert ignores_in("x = '# constparity: ignore'") == []
    assert found("\nx = '# constparity: ignore[CP101]'") == [("CP101", 2)]
