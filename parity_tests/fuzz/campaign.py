"""Fuzz: runs generated programs as a campaign, and reduces and keeps those that fail."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.fuzz import rendering
from parity_tests.fuzz.catalogue import CATALOGUE
from parity_tests.fuzz.recipe import Block, Piece, Recipe, RecipeArray, uses, walk
from parity_tests.judge.proofs import deciding, kind_of
from parity_tests.judge.verdict import is_refused
from parity_tests.processes.protocol import Progress
from parity_tests.reduce.draft_to_python import in_docstring
from parity_tests.reduce.search import smallest
from parity_tests.run import proving
from parity_tests.run import run as campaign
from parity_tests.run.options import PROVED_ON, CampaignOptions
from reports.rows import Campaign, ProgramRow, Side, Verdict
from reports.rows.claims import Claim
from reports.rows.proofs import reason_of

# A program that agrees and is not proved is made smaller by its proof, and did not fail.
_AGREE: tuple[Verdict, ...] = ("parity", "agrees here, not proved")


@dataclass(frozen=True)
class Fuzzed:
    """A campaign of generated programs; `refused` are those that stock JAX refuses alike.

    `apart` has what is claimed of the programs whose two forms part or are not proved one
    computation, by name, with the place where they part.
    """

    campaign: Campaign
    recipes: Mapping[str, Recipe]
    refused: tuple[ProgramRow, ...]
    apart: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """A program that failed or is not proved, and the file with the program made smaller."""

    name: str
    file: Path


def run(
    programs: int,
    seed: int,
    *,
    sides: Sequence[Side],
    timeout: float,
    folder: Path,
    progress: Progress = lambda done, total, text: None,
) -> Fuzzed:
    """Draw programs and run them on sides. A program's name has its seed and its number.

    They are written to a file of `folder`, which stays there: what is found names its lines. Raises
    `ModuleNotFoundError` where hypothesis is not installed.
    """
    from parity_tests.fuzz import strategy

    recipes = {
        f"seed_{seed}_program_{number}": strategy.drawn(number, of_seed=seed)
        for number in range(programs)
    }
    options, apart = _options(sides, timeout), {}
    targets = _targets(recipes, file_of(folder, seed))
    result = campaign.run(targets, options, progress=progress)
    with temporary_folder("fuzz-") as own:
        for row in result.programs:
            if claims := proving.where_they_part(row, own / row.name, options):
                apart[row.name] = claims
    refused = tuple(row for row in result.programs if is_refused(row))
    kept = tuple(row for row in result.programs if row not in refused)
    return Fuzzed(result.model_copy(update={"programs": kept}), recipes, refused, apart)


def file_of(folder: Path, seed: int) -> Path:
    """Return the file of a folder that the programs of a seed are written to."""
    return folder / f"seed_{seed}.py"


def keep(
    fuzzed: Fuzzed,
    folder: Path,
    *,
    failing: Collection[str] = (),
    timeout: float,
    progress: Progress = lambda done, total, text: None,
) -> Iterator[Kept]:
    """Make programs smaller, and write each to a file.

    They are those that failed, as long as they fail alike, and the first for each reason why
    programs are not proved, as long as it is not proved for that reason. `failing` names programs
    that count as failed whatever their verdict.
    """
    failed = [
        row for row in fuzzed.campaign.programs if row.verdict not in _AGREE or row.name in failing
    ]
    apart = _first_of_each_kind(fuzzed.apart)
    options = _options(fuzzed.campaign.sides, timeout)
    total, done = len(failed) + len(apart), 0

    def on_round(pieces: int) -> None:
        progress(done, total, f"making {name} smaller: {pieces} pieces left")

    for row in failed:
        name, file = row.name, folder / f"{row.name}.py"
        recipe = reduced(fuzzed.recipes[name], row, options, on_round)
        yield _kept(name, recipe, file, header(row, file))
        done += 1
    to_prove = options.model_copy(update={"sides": PROVED_ON})
    for name, claim in apart.items():
        file = folder / f"{name}_not_proved.py"
        recipe = still_apart(fuzzed.recipes[name], claim, to_prove, on_round)
        yield _kept(name, recipe, file, _header_of_claim(name, claim, file))
        done += 1


def _kept(name: str, recipe: Recipe, file: Path, header: str) -> Kept:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(rendering.module({name: recipe}, header))
    return Kept(name, file)


def _first_of_each_kind(apart: Mapping[str, tuple[Claim, ...]]) -> dict[str, Claim]:
    """Return the claim by which a program is not proved, for the first one of each kind."""
    found = {name: claim for name, claims in apart.items() if (claim := deciding(claims))}
    kinds = {kind_of(claim): name for name, claim in reversed(found.items())}
    return {name: claim for name, claim in found.items() if kinds[kind_of(claim)] == name}


def signature(row: ProgramRow) -> tuple[object, ...]:
    """Return what two programs that fail alike share.

    These are the pairs that differ, the sides that raise, and what a flip breaks. A flip may break
    what no two sides differ in, as where an output is committed.
    """
    different = {
        (each.left, each.right, each.metric)
        for each in row.comparisons
        if each.outcome == "different"
    }
    failed = {
        (each.side, each.failure.stage, each.failure.type)
        for each in row.observations
        if each.failure
    }
    return row.verdict, frozenset(different), frozenset(failed), _broken_by_a_flip(row)


def _broken_by_a_flip(row: ProgramRow) -> tuple[str, str] | None:
    """Return what a flip breaks or places otherwise, without its figures; None where nothing.

    Of a program in which nothing else differs it is whatever keeps the flip from being safe.
    """
    if row.flip is None or row.flip.outcome == "safe" or not row.flip.reasons:
        return None
    if row.flip.outcome not in ("different", "placed otherwise") and row.verdict not in _AGREE:
        return None
    first = row.flip.reasons[0]
    return first.kind, "" if first.kind == "failure" else first.what.partition(":")[0]


def _options(sides: Sequence[Side], timeout: float) -> CampaignOptions:
    # Without steady calls: nobody reads these times, and taking them compiles three times more.
    return CampaignOptions(sides=tuple(sides), timeout=timeout, steady_calls=0)


def _targets(recipes: Mapping[str, Recipe], file: Path) -> list[str]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(rendering.module(recipes))
    return [f"{file}:{name}" for name in recipes]


def reduced(
    recipe: Recipe,
    row: ProgramRow,
    options: CampaignOptions,
    on_round: Callable[[int], object] = lambda pieces: None,
) -> Recipe:
    """Make a program smaller as long as it fails like `row`, when it runs with these options."""

    def first_alike(targets: Sequence[str]) -> str | None:
        rows = campaign.run(targets, options).programs
        return next((each.name for each in rows if signature(each) == signature(row)), None)

    return _smallest(recipe, first_alike, on_round)


def still_apart(
    recipe: Recipe,
    claim: Claim,
    options: CampaignOptions,
    on_round: Callable[[int], object] = lambda pieces: None,
) -> Recipe:
    """Make a program smaller as long as it is not proved for the reason of `claim`.

    Where its forms part, they still part at the same two operations; nothing is run.
    """

    def first_alike(targets: Sequence[str]) -> str | None:
        found = proving.first_alike(targets, claim, options)
        return None if found is None else found.rpartition(":")[2]

    return _smallest(recipe, first_alike, on_round)


def _smallest(
    recipe: Recipe,
    first_alike: Callable[[Sequence[str]], str | None],
    on_round: Callable[[int], object],
) -> Recipe:
    """Make a program smaller; `first_alike` names the first of some that still shows the same."""

    def first_shown(tried: Sequence[Recipe]) -> Recipe | None:
        names = {f"candidate_{number}": each for number, each in enumerate(tried)}
        with temporary_folder("fuzz-") as folder:
            found = first_alike(_targets(names, folder / "generated.py"))
        return None if found is None else names[found]

    return smallest(
        recipe, candidates, first_shown, on_round=lambda each: on_round(size(each)[0])
    ).best


def header(row: ProgramRow, file: Path, how: Sequence[str] = ()) -> str:
    """Return the docstring of a file with a smaller program: what was seen before.

    `how` are options of `constparity run` that it needs to be seen again.
    """
    found: str = row.verdict
    seen = row.reasons
    if row.verdict in _AGREE and row.flip is not None:
        found, seen = row.flip.outcome, tuple(each.what for each in row.flip.reasons)
    reasons = "\n".join(f"- {line}" for reason in seen for line in reason.splitlines())
    text = f"A generated program, made smaller: {found}.\n\nBefore that:\n{reasons}\n\n"
    text += f"    {shlex.join(['constparity', 'run', f'{file}:{row.name}', *how])}\n"
    return in_docstring(text)


def _header_of_claim(name: str, claim: Claim, file: Path) -> str:
    reason = reason_of(claim, with_line=False)  # for the file has others
    return in_docstring(
        f"A generated program, made smaller: its {claim.of} is {claim.answer}.\n\n"
        f"Before that:\n- {reason}\n\n"
        f"    {shlex.join(['constparity', 'prove', f'{file}:{name}'])}\n"
    )


# -- smaller recipes -------------------------------------------------------------------------------


def size(recipe: Recipe) -> tuple[int, ...]:
    """Return the key that orders recipes: fewer pieces, then fewer arrays, then simpler arrays."""
    pieces = list(walk(recipe.pieces))
    needed = [recipe.captured[index] for index in uses(recipe)]
    return (
        len(pieces) + (recipe.outside != "nothing"),
        len(needed) + len(recipe.returned),
        sum((each.dtype, each.shape, each.storage) != _PLAIN for each in needed),
        sum(piece.option != 0 for piece in pieces) + (recipe.size != 4),
    )


_PLAIN = (RecipeArray().dtype, RecipeArray().shape, RecipeArray().storage)


def candidates(recipe: Recipe) -> tuple[Recipe, ...]:
    """Return the recipes that are one change smaller, the smallest first.

    Hypothesis would shrink one example at a time, and an example here is a run in four fresh
    processes. So all candidates of a round are made at once, and run as one campaign.
    """
    found = {replace(recipe, pieces=block) for block in _smaller(recipe.pieces)}
    found |= {replace(recipe, outside="nothing"), replace(recipe, size=4)}
    found |= {replace(recipe, returned=recipe.returned[:-1])}
    for index in uses(recipe):
        plain = RecipeArray(seed=recipe.captured[index].seed)
        kept = recipe.captured[:index], recipe.captured[index + 1 :]
        found.add(replace(recipe, captured=(*kept[0], plain, *kept[1])))
        merged = tuple(_renamed(piece, index, min(uses(recipe))) for piece in recipe.pieces)
        found.add(replace(recipe, pieces=merged))
    return tuple(sorted((each for each in found if size(each) < size(recipe)), key=size))


def _smaller(block: Block) -> Iterator[Block]:
    for number, piece in enumerate(block):
        before, after = block[:number], block[number + 1 :]
        yield (*before, *after)
        if not CATALOGUE[piece.construct].by_row:
            for body in piece.bodies:
                yield (*before, *body, *after)
        if piece.option:
            yield (*before, replace(piece, option=0), *after)
        for index, body in enumerate(piece.bodies):
            for smaller in _smaller(body):
                bodies = (*piece.bodies[:index], smaller, *piece.bodies[index + 1 :])
                yield (*before, replace(piece, bodies=bodies), *after)


def _renamed(piece: Piece, old: int, new: int) -> Piece:
    return replace(
        piece,
        captured=tuple(new if index == old else index for index in piece.captured),
        bodies=tuple(tuple(_renamed(inner, old, new) for inner in body) for body in piece.bodies),
    )
