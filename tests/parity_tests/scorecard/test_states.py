"""The state of a line follows from what its program showed in both modes."""

import pytest

from parity_tests.scorecard.score import LineError, read, state_of
from reports.rows.scorecard import Seen

STATED = '''"""Something.

kind: cost
off: 0 copies
on: ValueError: no ...
right on: 1 copy
who: some
from: somewhere,
    on two lines
way round: none
"""
print(1)
'''


@pytest.fixture
def line(tmp_path):
    file = tmp_path / "line.py"
    file.write_text(STATED)
    return read(file)


def state(line, off, on, *before):
    texts = [(text.removeprefix("!"), text.startswith("!")) for text in (off, on)]
    seen = [
        Seen(side=side, text=text, failed=failed)
        for side, (text, failed) in zip(("jax-legacy", "jax-simplified"), texts, strict=True)
    ]
    return state_of(line, *seen, before)


ABSENT = "not in this release"


@pytest.mark.parametrize(
    ("off", "on", "before", "expected"),
    [
        ("0 copies", "!ValueError: no a", None, "open"),
        ("0 copies", "!ValueError: no a", "open", "open"),
        ("0 copies", "!ValueError: no a", "new", "open"),
        ("0 copies", "!ValueError: no a", "changed", "open"),
        ("0 copies", "!ValueError: no a", "not in this release", "new"),
        ("0 copies", "!ValueError: no a", "right", "new"),
        ("0 copies", "!ValueError: no a", "fixed", "new"),
        ("0 copies", "1 copy", None, "right"),
        ("0 copies", "1 copy", "right", "right"),
        ("0 copies", "1 copy", "open", "fixed"),
        ("0 copies", "1 copy", "fixed", "fixed"),
        ("0 copies", "2 copies", None, "changed"),
        ("1 copy", "1 copy", None, "changed"),  # the other mode has changed, too
        ("0 copies", "!TypeError: other", None, "not known"),
        ("!TypeError: other", "1 copy", None, "not known"),
        (ABSENT, ABSENT, None, ABSENT),
        (ABSENT, f"!{ABSENT}", None, "not known"),
        ("0 copies", ABSENT, None, "changed"),
    ],
)
def test_state(line, off, on, before, expected):
    assert state(line, off, on, *([before] if before else [])) == expected


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (["not known"], "right"),
        (["changed"], "right"),
        (["open", "not known"], "fixed"),
        (["new", ABSENT], "fixed"),
    ],
)
def test_what_is_right_is_fixed_where_an_earlier_release_had_the_fault(line, before, expected):
    assert state(line, "0 copies", "1 copy", *before) == expected


@pytest.mark.parametrize(
    ("off", "on", "right", "expected"),
    [
        ("1", "2", "", "against the flip"),
        ("1", "2", "by design: it is the change\n", "by design"),
        ("1", "2", "right on: 3\n", "against the flip"),
        ("1", "1", "right on: 2\n", "in both modes"),
        ("1", "2", "right off: 3\n", "in both modes"),
        ("1", "2", "right off: 2\n", "fixed by the flip"),
    ],
)
def test_what_the_flip_does_to_a_fault(tmp_path, off, on, right, expected):
    file = tmp_path / "line.py"
    stated = STATED.replace("0 copies", off).replace("ValueError: no ...", on)
    file.write_text(stated.replace("right on: 1 copy\n", right))
    assert read(file).effect == expected


def test_what_a_program_states(line):
    assert (line.title, line.origin) == ("Something.", "somewhere, on two lines")
    assert line.fault == ("0 copies", "ValueError: no ...")
    assert line.right == ("0 copies", "1 copy")
    assert line.program == "print(1)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("who: some\n", ""), r"missing \['who'\]"),
        (("who:", "whom:"), r"missing \['who'\], unknown \['whom'\]"),
        (("kind: cost", "kind: large"), "kind 'large', not one of wrong values, fails"),
        (("right on: 1 copy", "right on: ValueError: no ..."), "what is right is the fault"),
    ],
)
def test_a_program_that_states_too_little_is_refused(tmp_path, change, message):
    file = tmp_path / "line.py"
    file.write_text(STATED.replace(*change))
    with pytest.raises(LineError, match=message):
        read(file)
