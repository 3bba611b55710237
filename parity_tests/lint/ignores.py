"""Comments that silence findings: `# constparity: ignore[CP101]`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from parity_tests.lint.records import Confidence, Match, Place

CODE = "CP001"
TITLE = "an ignore comment that silences nothing"
EXPLANATION = """\
A comment `# constparity: ignore[CODE]` stands on a line, and no finding of that code does, or no
rule has that code. Such a comment would hide the next finding on that line.

What to do: remove the code, or the comment. Codes are listed with commas; an ignore without codes,
`# constparity: ignore`, silences all rules on its line."""

_COMMENT = re.compile(r"#\s*constparity:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True)
class Ignore:
    """A comment that silences findings on its line; without codes, all of them."""

    place: Place
    codes: tuple[str, ...]


def ignores_in(text: str) -> list[Ignore]:
    """Find the ignore comments of a file; text in strings is none.

    Example::

        ignores_in("x = 1  # constparity: ignore[CP101]")
    """
    if "constparity" not in text:
        return []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):  # libcst reads Pythons newer than this one
        return []
    found = []
    for token in tokens:
        match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            codes = tuple(
                each.strip() for each in (match["codes"] or "").split(",") if each.strip()
            )
            place = Place(token.start[0], token.start[1] + match.start() + 1)
            found.append(Ignore(place, codes))
    return found


def silence(
    found: Sequence[tuple[str, Match]],
    ignores: Sequence[Ignore],
    asked: Collection[str],
    known: Collection[str],
) -> Iterator[tuple[str, Match]]:
    """Yield the findings that no comment silences, and a finding for each unused code.

    `known` are the codes of all rules, `asked` those that were looked for: no other is unused.
    """
    used: set[tuple[Ignore, str]] = set()
    for code, match in found:
        by = [each for each in ignores if _silences(each, code, match)]
        used.update((each, code) for each in by)
        if not by:
            yield code, match
    for ignore in ignores:
        hits = {code for each, code in used if each == ignore}
        for message in _unused(ignore, hits, asked, known):
            yield CODE, Match(ignore.place, message, Confidence.HIGH)


def _silences(ignore: Ignore, code: str, match: Match) -> bool:
    return ignore.place.line == match.place.line and (not ignore.codes or code in ignore.codes)


def _unused(
    ignore: Ignore, hits: set[str], asked: Collection[str], known: Collection[str]
) -> Iterator[str]:
    if not ignore.codes and not hits and set(asked) >= set(known):
        yield "this ignore comment silences nothing; remove it"
    for code in ignore.codes:
        if code not in known:
            yield f"there is no rule {code}; remove it from this ignore comment"
        elif code in asked and code not in hits:
            yield f"nothing on this line is {code}; remove it from this ignore comment"
