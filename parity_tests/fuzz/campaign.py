"""Fuzz: runs generated programs as a campaign, and reduces and keeps those that fail."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.fuzz import rendering
from parity_tests.fuzz.recipe import Block, Piece, Recipe, RecipeArray, uses, walk
from parity_tests.fuzz.rendering import CATALOGUE
from parity_tests.judge.refused_by_stock import is_refused
from parity_tests.processes.protocol import Progress
from parity_tests.reduce.draft_to_python import in_docstring
from parity_tests.run import proving
from parity_tests.run import run as campaign
from parity_tests.run.options import CampaignOptions
from reports.rows import Campaign, ProgramRow, Side
from reports.rows.claims import Claim

# How many smaller programs one round tries at most, and how many rounds there are at most.
CANDIDATES = 16
ROUNDS = 20


@dataclass(frozen=True)
class Fuzzed:
    """A campaign of generated programs; `refused` are those that stock JAX refuses alike.

    `apart` has what is claimed of the programs whose two forms are not proved one computation, by
    name, each with the place where they part.
    """

    campaign: Campaign
    recipes: Mapping[str, Recipe]
    refused: tuple[ProgramRow, ...]
    apart: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """The row of a program that failed, and the file with the program made smaller."""

    row: ProgramRow
    file: Path


def run(
    programs: int,
    seed: int,
    *,
    sides: Sequence[Side],
    timeout: float,
    progress: Progress = lambda done, total, text: None,
) -> Fuzzed:
    """Draw programs and run them on sides. A program's name has its seed and its number.

    Raises `ModuleNotFoundError` where hypothesis is not installed.
    """
    from parity_tests.fuzz import strategy

    recipes = {
        f"seed_{seed}_program_{number}": strategy.drawn(number, of_seed=seed)
        for number in range(programs)
    }
    options, apart = _options(sides, timeout), {}
    with _written(recipes) as targets:
        result = campaign.run(targets, options, progress=progress)
        for row in result.programs:
            folder = Path(targets[0]).parent / row.name
            if claims := proving.where_they_part(row, folder, options):
                apart[row.name] = claims
    refused = tuple(row for row in result.programs if is_refused(row))
    kept = tuple(row for row in result.programs if row not in refused)
    return Fuzzed(result.model_copy(update={"programs": kept}), recipes, refused, apart)


def keep(
    fuzzed: Fuzzed,
    folder: Path,
    *,
    timeout: float,
    progress: Progress = lambda done, total, text: None,
) -> Iterator[Kept]:
    """Make each program that failed smaller, as long as it fails alike, and write it to a file."""
    failed = [row for row in fuzzed.campaign.programs if row.verdict != "parity"]
    for done, row in enumerate(failed):

        def on_round(name: str, pieces: int, done: int = done) -> None:
            progress(done, len(failed), f"making {name} smaller: {pieces} pieces left")

        options = _options(fuzzed.campaign.sides, timeout)
        recipe = reduced(fuzzed.recipes[row.name], row, options, on_round)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{row.name}.py"
        file.write_text(rendering.module({row.name: recipe}, header(row, file)))
        yield Kept(row, file)


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
    """Return what a flip breaks or places otherwise, without its figures; None where nothing."""
    if row.flip is None or row.flip.outcome not in ("different", "placed otherwise"):
        return None
    first = row.flip.reasons[0]
    return first.kind, "" if first.kind == "failure" else first.what.partition(":")[0]


def _options(sides: Sequence[Side], timeout: float) -> CampaignOptions:
    # Without steady calls: nobody reads these times, and taking them compiles three times more.
    return CampaignOptions(sides=tuple(sides), timeout=timeout, steady_calls=0)


@contextmanager
def _written(recipes: Mapping[str, Recipe]) -> Iterator[list[str]]:
    """Write programs to a module for the time of a block; yield their targets."""
    with temporary_folder("fuzz-") as folder:
        file = folder / "generated.py"
        file.write_text(rendering.module(recipes))
        yield [f"{file}:{name}" for name in recipes]


def reduced(
    recipe: Recipe,
    row: ProgramRow,
    options: CampaignOptions,
    on_round: Callable[[str, int], None] = lambda name, pieces: None,
) -> Recipe:
    """Make a program smaller as long as it fails like `row`, when it runs with these options."""
    for _ in range(ROUNDS):
        on_round(row.name, size(recipe)[0])
        smaller = candidates(recipe)
        for start in range(0, len(smaller), CANDIDATES):
            tried = {
                f"candidate_{number}": each
                for number, each in enumerate(smaller[start : start + CANDIDATES])
            }
            with _written(tried) as targets:
                result = campaign.run(targets, options)
            alike = [
                tried[each.name] for each in result.programs if signature(each) == signature(row)
            ]
            if alike:
                recipe = alike[0]
                break
        else:
            break
    return recipe


def header(row: ProgramRow, file: Path, how: Sequence[str] = ()) -> str:
    """Return the docstring of a file with a smaller program: what was seen before.

    `how` are options of `constparity run` that it needs to be seen again.
    """
    found: str = row.verdict
    seen = row.reasons
    if row.verdict == "parity" and row.flip is not None:
        found, seen = row.flip.outcome, tuple(each.what for each in row.flip.reasons)
    reasons = "\n".join(f"- {line}" for reason in seen for line in reason.splitlines())
    text = f"A generated program, made smaller: {found}.\n\nBefore that:\n{reasons}\n\n"
    text += f"    {shlex.join(['constparity', 'run', f'{file}:{row.name}', *how])}\n"
    return in_docstring(text)


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
