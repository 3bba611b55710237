"""Texts of StableHLO modules with one thing changed: a token is another, or operands are swapped.

Most are no modules any more, so the reader tries them; those that are one may compute the same.
"""

import re

_NAMES = (
    "add subtract multiply divide maximum minimum power remainder atan2",
    "sine cosine tanh exponential log negate abs sqrt rsqrt floor ceil sign logistic cbrt",
    "and or xor",
    "shift_left shift_right_logical shift_right_arithmetic",
    "real imag",
    "LT LE GT GE EQ NE",
    "FLOAT TOTALORDER SIGNED UNSIGNED",
    "true false",
    "DEFAULT HIGHEST HIGH",
    "LOWER UPPER",
)
_OTHER_NAMES = {name: sorted({*row.split()} - {name}) for row in _NAMES for name in row.split()}
_VALUE = re.compile(r"%[\w#]+")
_TOKEN = re.compile(r"%[\w#]+|stablehlo\.\w+|\"0x[0-9A-F]+\"|\b(?:[A-Z]+|true|false|\d+)\b")
_NEAR = 30  # lines before, whose values an operand may be replaced by


def mutant(text, drawn):
    """Return a text with one thing changed, and what that is; None where it is nothing."""
    lines = text.splitlines()
    at = drawn.randrange(1, len(lines))
    changed = (_swapped if drawn.random() < 0.2 else _another)(lines, at, drawn)
    if changed is None:
        return None
    what = f"{lines[at].strip()[:200]} is now {changed.strip()[:200]}"
    return "\n".join([*lines[:at], changed, *lines[at + 1 :]]), what


def _swapped(lines, at, drawn):
    result, equals, right = lines[at].partition(" = ")
    operands = sorted({*_VALUE.findall(right)})
    if len(operands) < 2:
        return None
    one, other = drawn.sample(operands, 2)
    partner = {one: other, other: one}
    return result + equals + _VALUE.sub(lambda found: partner.get(found[0], found[0]), right)


def _another(lines, at, drawn):
    tokens = [*_TOKEN.finditer(lines[at])]
    if not tokens:
        return None
    token = drawn.choice(tokens)
    others = _others(token[0], lines[max(0, at - _NEAR) : at])
    if not others:
        return None
    return lines[at][: token.start()] + drawn.choice(others) + lines[at][token.end() :]


def _others(token, lines_before):
    if token.startswith("%"):
        return sorted({*_VALUE.findall("\n".join(lines_before))} - {token})
    if token.startswith('"0x'):
        at = len(token) // 2
        return [token[:at] + each + token[at + 1 :] for each in "07F" if each != token[at]]
    if token.isdigit():
        return [str(int(token) + 1), str(max(0, int(token) - 1))]
    name = token.removeprefix("stablehlo.")
    return [token.replace(name, each) for each in _OTHER_NAMES.get(name, ())]
