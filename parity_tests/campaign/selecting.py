"""The programs of a campaign that an expression takes, as that of `-k`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from parity_tests.campaign.generated import name_of
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.spec import LibrarySpec, Spec, SpecError
from parity_tests.run.selection import parse_expression

_IS_A_TYPO = 0.8  # of the similarity of difflib; 0.6 is merely near


def selected(
    programs: Sequence[PlannedProgram], expression: str, left_out: Sequence[LibrarySpec] = ()
) -> list[PlannedProgram]:
    """Return the programs that an expression takes, each with its place among them.

    Raises `SpecError` where it takes none, which names libraries that were left out.

    Example::

        selected(plan.programs, "scan and not vmap")
    """
    if not expression.strip():
        return list(programs)
    takes = parse_expression(expression)
    found = [each for each in programs if takes([each.name, each.corpus, *each.tags])]
    if not found:
        raise _nothing(expression, left_out)
    return [each.model_copy(update={"place": place}) for place, each in enumerate(found)]


def check_expression(spec: Spec, expression: str) -> None:
    """Refuse an expression that takes nothing, where that is known before programs are listed.

    It is where all programs are generated: others are known to their modules. A word that is nearly
    the name of a library is refused, too, before others are fetched for it. Raises `SpecError`.

    Example::

        check_expression(spec, "seed_7_program_12")
    """
    if not expression.strip():
        return
    search = _search(spec, expression)
    for word in search.words:
        if close := _nearest(spec, word, _IS_A_TYPO):
            raise SpecError(
                f"no library is named {word!r}: did you mean {close}? For programs of that name, "
                f"name their library, too, as -k '{close} and {word}'"
            )
    if search.libraries or not all(each.generated for each in spec.corpus):
        return
    takes = parse_expression(expression)
    if not any(takes(texts) for texts in _generated(spec)):
        raise _nothing(expression)


def with_libraries_taken(spec: Spec, expression: str, say: Callable[[str], object]) -> Spec:
    """Return a spec without the libraries that an expression leaves out, before any is fetched.

    A word that names a library or a corpus is false of the others. Says where libraries are fetched
    for the names of their programs alone.

    Example::

        with_libraries_taken(spec, "numpyro and handlers", print).library
    """
    if not expression.strip():
        return spec
    search = _search(spec, expression)
    count = len(search.libraries)
    if search.words and count > 1:
        several = len(search.words) > 1
        near = (_nearest(spec, word) for word in search.words)
        nearest = ", ".join(dict.fromkeys(filter(None, near)))
        say(
            f"{' and '.join(map(repr, search.words))} {'name' if several else 'names'} no library, "
            f"so {'all' if count == len(spec.library) else f'{count} of'} {len(spec.library)} are "
            f"fetched to look for programs of {'these names' if several else 'that name'}: "
            f"{', '.join(each.name for each in search.libraries)}"
            + (f" (the nearest name is {nearest})" if nearest else "")
        )
    return spec.model_copy(update={"library": search.libraries})


@dataclass(frozen=True)
class _Search:
    """The libraries whose programs an expression may take.

    Some may be there that it does not name: `words` are those that only their programs can tell.
    """

    libraries: tuple[LibrarySpec, ...]
    words: tuple[str, ...]


def _search(spec: Spec, expression: str) -> _Search:
    read = parse_expression(expression)
    names = [each.name.lower() for each in spec.corpus]
    names += [each.name.lower() for each in spec.library]
    libraries: list[LibrarySpec] = []
    words: dict[str, None] = {}
    for each in spec.library:
        known = [_is_true(word, each.name.lower(), names) for word in read.words]
        if read.value(known) is False:
            continue
        libraries.append(each)
        if True in known:
            continue  # it is named, and so fetched for its own sake
        own = f"{each.name.lower()}/"
        for word, is_true in zip(read.words, known, strict=True):
            if is_true is None and own not in word:
                words[word] = None
    return _Search(tuple(libraries), tuple(words))


def _is_true(word: str, library: str, names: Sequence[str]) -> bool | None:
    """Say whether a word is true of all programs of a library; None where it may be of some.

    The programs of several corpora are named as "corpus/program".
    """
    if word in library:
        return True
    others = (each for each in names if each != library)
    return False if any(word in each or f"{each}/" in word for each in others) else None


def _nearest(spec: Spec, word: str, similarity: float = 0.6) -> str:
    """Return the name of a library that is most like a word; "" where none is."""
    names = [each.name for each in spec.library]
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=similarity)), "")


def _generated(spec: Spec) -> Iterable[tuple[str, str]]:
    """Return the corpus and the name of each program, as the plan has them."""
    for each in spec.corpus:
        of_several = f"{each.name}/" if len(spec.corpus) > 1 else ""
        for number in range(each.generated):
            yield each.name, f"{of_several}{name_of(each.seed, number, each.depth)}"


def _nothing(expression: str, left_out: Sequence[LibrarySpec] = ()) -> SpecError:
    names = ", ".join(each.name for each in left_out)
    rest = f"; the libraries that left no programs are {names}" if names else ""
    return SpecError(f"no program, corpus or tag of the campaign is {expression!r}{rest}")
