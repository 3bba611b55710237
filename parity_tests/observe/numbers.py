"""Numbers of a program on a side: of its jaxpr and of its module, and the settings with both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import jax

from parity_tests.evidence.found import NumberedStep
from parity_tests.exception_texts import named, without_ids
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jax_internals import const_args, devices_of, kept_arguments
from parity_tests.jaxpr.captured import CapturedValue, is_gone, words_of
from parity_tests.jaxpr.source_places import NOWHERE, Place, kind_of_file, place_of, relative
from parity_tests.observe.reads.recorder import Site
from parity_tests.observe.result_types import digest_of_tree, types_of
from parity_tests.observe.stages import Lowered, Traced
from parity_tests.proof.contents import odd_bits_of
from parity_tests.proof.encodings import encoded
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.modules import number_module
from parity_tests.proof.numbers import Number, Numbered, UndecidedError, number
from parity_tests.proof.rules import with_functions
from reports.rows import Numbers, ProgramNumber, is_ours

# Settings of JAX that stand in no jaxpr, and decide what is computed all the same.
_SETTINGS = (
    "jax_default_matmul_precision", "jax_default_prng_impl", "jax_enable_x64",
    "jax_numpy_dtype_promotion", "jax_threefry_partitionable", "jax_use_shardy_partitioner",
)  # fmt: skip
# Those that decide how it is computed, or whether it fails, and what they are unless they are set.
# A release that lacks one, or has None for it, does as the others.
_UNLESS_SET = {
    "jax_compiler_enable_remat_pass": "True",
    "jax_debug_infs": "False",
    "jax_debug_key_reuse": "False",
    "jax_debug_nans": "False",
    "jax_default_device": "None",
    "jax_disable_most_optimizations": "False",
    "jax_embedded_constants_max_bytes": "32",
    "jax_exec_time_optimization_effort": "0.0",
    "jax_memory_fitting_effort": "0.0",
    "jax_memory_fitting_level": "O2",
    "jax_no_execution": "False",
    "jax_optimization_level": "UNKNOWN",
    "jax_transfer_guard_device_to_device": "None",
    "jax_transfer_guard_device_to_host": "None",
    "jax_transfer_guard_host_to_device": "None",
}


class NotLoweredError(UndecidedError):
    """JAX cannot lower a program for a platform."""


def numbers_of(traced: Traced) -> Numbers:
    """Return the numbers of a program that was traced: of its jaxpr, and of no module.

    Example::

        numbers_of(stages.trace(built, None)).jaxpr.digest
    """
    tree = jax.tree.structure(traced.traced.out_info)
    return numbers_of_jaxpr(traced.traced.jaxpr, tree, traced.built.own.options)


def with_modules(numbers: Numbers, lowered: Lowered, platforms: Sequence[str] = ()) -> Numbers:
    """Return the numbers of a program with those of its module.

    It is lowered for `platforms` as well, which need not be here: "cuda", "rocm" or "tpu".

    Example::

        with_modules(numbers_of(lowered), lowered, ("tpu",)).modules["tpu"].digest
    """
    options = lowered.built.own.options
    made = {each: partial(_number_lowered, lowered, each) for each in ("", *platforms)}
    modules = {name: _row(make, options) for name, make in made.items()}
    return numbers.model_copy(update={"modules": modules})


def placement_of(made: Traced, captured: Sequence[CapturedValue]) -> str:
    """Return the digest of the devices that a program runs on and of where its captured arrays lie.

    Both forms of a program may differ in it. It is "" where nothing is lowered.

    Example::

        placement_of(lowered, lowered.facts.captured)
    """
    if not isinstance(made, Lowered):
        return ""
    there = [words_of(each.value) for each in captured if not is_gone(each.value)]
    lies = [str(getattr(each, "format", "NumPy")) for each in there]  # devices, memory, layout
    return number("placement", str(devices_of(made.lowered)), *lies).hex()


def traced_for_here(numbers: Numbers, reads: Sequence[Site]) -> Numbers:
    """Return the numbers of a program whose trace read the backend: none for other platforms.

    Example::

        traced_for_here(numbers, sites).modules["tpu"].undecided
    """
    if not reads:
        return numbers
    here, modules = jax.export.default_export_platform(), dict(numbers.modules)
    place = reads[0].caller if reads[0].caller.file else reads[0].place
    for platform in modules.keys() - {"", here}:
        modules[platform] = ProgramNumber(
            undecided=f"it reads the backend ({place.file}:{place.line}), so it may be another "
            f"program on {platform}",
            traced_for_here=True,
        )
    return numbers.model_copy(update={"modules": modules})


def numbers_of_jaxpr(
    closed_jaxpr: Any, tree: Any, options: Mapping[str, Any] = MappingProxyType({})
) -> Numbers:
    """Return the numbers of a jaxpr whose results are a tree, with JAX's settings and options."""
    digest, undecided = digest_of_tree(tree)
    return Numbers(
        jaxpr=_row(partial(numbered_jaxpr, closed_jaxpr), options),
        types=types_of(closed_jaxpr, tree),
        tree=digest,
        tree_undecided=undecided,
    )


def numbered(what: Literal["jaxpr", "module"], lowered: Lowered, platform: str = "") -> Numbered:
    """Return the numbers of the jaxpr or of a module of a program. Raises `UndecidedError`."""
    if what == "jaxpr":
        return numbered_jaxpr(lowered.traced.jaxpr)
    return _number_lowered(lowered, platform)


@jax_defaults()
def numbered_jaxpr(closed_jaxpr: Any) -> Numbered:
    """Return the numbers of a jaxpr, read under JAX's defaults. Raises `UndecidedError`."""
    found = number_jaxpr(closed_jaxpr)
    _check_bits(found.odd_bits)  # in legacy they are constants of the module, which has none
    return found


def _check_bits(dtype: str) -> None:
    if dtype:
        raise UndecidedError(f"a captured array of {dtype} with bits that mean nothing")


def _number_lowered(lowered: Lowered, platform: str) -> Numbered:
    """Return the numbers of the module for a platform that need not be here; "" is this one.

    It is lowered under the user's settings, and numbered under JAX's defaults.
    """
    if lowered.not_here and not platform:
        raise NotLoweredError(f"it cannot be lowered here: {lowered.not_here}")
    if not platform:
        return _number_module(lowered, lowered.lowered)
    # A rule of lowering may raise anything at all where it has none for a platform.
    try:
        made = lowered.traced.lower(lowering_platforms=(platform,))
    except Exception as error:
        raise NotLoweredError(f"it cannot be lowered for {platform}: {named(error)}") from error
    return _number_module(lowered, made)


@jax_defaults()
def _number_module(lowered: Lowered, made: Any) -> Numbered:
    captured = lowered.traced.jaxpr.jaxpr.constvars
    if any(type(var.aval).__name__ == "AbstractRef" for var in captured):
        raise UndecidedError("a captured AbstractRef: the module does not say which it is passed")
    passed = made.const_args if is_ours(lowered.built.side) else const_args(made)
    for each in passed:
        _check_bits(odd_bits_of(each))
    found = number_module(made.compiler_ir(), passed, kept_arguments(made))
    if found.callbacks and not is_ours(lowered.built.side):
        with suppress(UndecidedError):
            found = with_functions(found, made)
    devices = devices_of(made)
    if len(devices) < 2:  # where a captured array places a program is a hazard
        return found
    # A module has shardings over so many devices, and not which devices they are.
    by_calls = found.by_calls and number(found.by_calls, encoded(devices))
    return replace(found, digest=number(found.digest, encoded(devices)), by_calls=by_calls)


def digest_of(digest: Number, options: Mapping[str, Any]) -> str:
    """Return the digest of a program with JAX's settings and its jit options, as a row has it.

    Raises `UndecidedError`.
    """
    settings = tuple(getattr(jax.config, name, None) for name in _SETTINGS)
    values = jax.config.values  # some settings have no attribute
    told = {name: str(values.get(name)) for name in _UNLESS_SET}
    others = {name: now for name, now in told.items() if now not in ("None", _UNLESS_SET[name])}
    parts = (encoded(settings), encoded(dict(options)), *([encoded(others)] if others else []))
    return number(digest, *parts).hex()


def _row(make: Callable[[], Numbered], options: Mapping[str, Any]) -> ProgramNumber:
    try:
        found = make()
        digest = digest_of(found.digest, options)
        by_calls = digest_of(found.by_calls, options) if found.by_calls else ""
    except UndecidedError as error:
        return ProgramNumber(undecided=str(error), not_lowered=isinstance(error, NotLoweredError))
    # A program may hold objects of any kind, which raise what they like where they are looked at.
    except Exception as error:  # noqa: BLE001
        return ProgramNumber(undecided=f"numbering it raised {named(error)}")
    return ProgramNumber(
        digest=digest,
        by_calls=by_calls,
        operations=len(found.steps),
        constants=len(found.constants),
        bodies=found.bodies,
        effects=len(found.effects),
        callbacks=found.callbacks,
        functions=found.functions.hex(),
        writers=found.writers,
        is_native=found.is_native,
    )


def steps_of(found: Numbered) -> Iterator[NumberedStep]:
    """Yield each step with the texts of its params, and the line that it comes from."""
    for step in found.steps:
        is_equation = hasattr(step.source, "source_info")
        place = place_of(step.source) if is_equation else place_of_locations(step.source)
        yield NumberedStep(
            number=step.number.hex(),
            name=step.name,
            operands=tuple(each.hex() for each in step.operands),
            said={name: _short(value) for name, value in dict(step.params).items()},
            file=place.file,
            line=place.line,
        )


_MOST_SAID = 100  # characters of a param


def _short(value: Any) -> str:
    text = " ".join(without_ids(str(value)).split())
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}..."


# -- lines of a module -----------------------------------------------------------------------------


def place_of_locations(locations: Sequence[Any]) -> Place:
    """Return the innermost line of the user's own code, or `NOWHERE`.

    `locations` are those of an operation and of the calls around it, innermost first: JAX leaves
    the lines out of functions that it lowers once for several calls. A line of a library that is
    installed beside JAX comes last.

    Example::

        place_of_locations(step.source).line == 12
    """
    library = NOWHERE
    for location in locations:
        for file, line, function in _frames(location, ""):
            kind = kind_of_file(file)
            if kind == "user":
                return Place(relative(file), line, function)
            if kind == "library" and library is NOWHERE:
                library = Place(relative(file), line, function)
    return library


def _frames(location: Any, name: str) -> Iterator[tuple[str, int, str]]:
    """Yield the file, the line and the function of each frame, innermost first."""
    kind = type(location).__name__
    if kind == "FileLineColLoc":
        yield location.filename, location.start_line, name
    elif kind == "NameLoc":
        yield from _frames(location.child_loc, location.name_str)
    elif kind == "CallSiteLoc":
        yield from _frames(location.callee, name)
        yield from _frames(location.caller, name)
    elif kind == "FusedLoc":
        for each in location.locations:
            yield from _frames(each, name)
