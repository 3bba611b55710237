"""A long text is cut after a whole line, and says how many are gone."""

from __future__ import annotations

import base64
import zlib

import pytest

from reports.rows import KeptText
from reports.rows.observation import MOST_CHARACTERS


@pytest.mark.parametrize("text", ["", "one line", "two\nlines\n", "é \U0001f600 \x00", "\udc80"])
def test_a_short_text_is_kept_whole(text):
    kept = KeptText.of(text)
    assert kept.text == text.encode("utf-8", "backslashreplace").decode("utf-8")
    assert kept.cut == 0


def test_a_long_text_is_cut_after_a_whole_line_and_says_how_many_are_gone():
    lines = [f"line {number}" for number in range(20_000)]
    kept = KeptText.of("\n".join(lines))
    shown = kept.text.splitlines()
    assert len(kept.text) <= MOST_CHARACTERS
    assert shown == lines[: len(shown)]
    assert kept.cut == len(lines) - len(shown)


def test_a_line_that_is_too_long_is_cut_within():
    kept = KeptText.of("x" * (MOST_CHARACTERS + 5) + "\nlast")
    assert kept.text == "x" * MOST_CHARACTERS
    assert kept.cut == 2


@pytest.mark.parametrize(
    "data",
    [
        "no base64!",
        base64.b64encode(b"no zlib").decode(),
        base64.b64encode(zlib.compress(b"x" * 100)[:10]).decode(),
        base64.b64encode(zlib.compress(bytes(100_000_000))).decode(),
    ],
)
def test_damaged_and_swollen_data_is_an_error(data):
    with pytest.raises(ValueError, match=r"damaged|base64"):
        _ = KeptText(data=data).text
