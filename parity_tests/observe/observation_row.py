"""The observation row of a program on a side, from the records of its stages."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

import jax
import numpy as np

from parity_tests.evidence import values
from parity_tests.jaxpr.captured import captured_value, digest_of
from parity_tests.jaxpr.work import Moved
from parity_tests.observe import as_written
from parity_tests.observe.compile_cache import Cached
from parity_tests.observe.environment import measured_with
from parity_tests.observe.later_calls import CallTimes
from parity_tests.observe.ledger import is_readable
from parity_tests.observe.stablehlo import ModuleCounts
from parity_tests.observe.stages import Called, Compiled, Counted, Lowered, StageClock
from reports.rows import (
    ArgumentLeaf,
    CapturedArray,
    Check,
    HostMemory,
    JaxprCounts,
    KeptText,
    MovedArray,
    Observation,
    ProgramTexts,
    StableHloCounts,
    StageTimes,
)

MOST_DIGESTS = 256  # of inlined constants, which a report keeps

Records: TypeAlias = tuple[Lowered, Counted, Compiled, Called]


def observation_of(
    program: str,
    records: Records,
    *,
    arguments: tuple[ArgumentLeaf, ...],
    ledger: tuple[CapturedArray, ...],
    checks: tuple[Check, ...],
    cached: Cached,
    fresh: bool,
) -> Observation:
    """Put the records of all stages into one row."""
    lowered, counted, compiled, called = records
    return Observation(
        program=program,
        side=lowered.built.side,
        measured_with=measured_with(),
        proof=counted.proof,
        jaxpr=_jaxpr(counted, as_written.types_donated(lowered)),
        stablehlo=_stablehlo(counted),
        executable=compiled.executable,
        recompiles=cached.recompiles,
        memory=compiled.memory,
        constant_buffers=called.constant_buffers,
        host_memory=_host_memory(lowered, compiled, fresh),
        times=_times(lowered.built.clock, called.times, cached),
        arguments=arguments,
        outputs=called.first.leaves,
        tree=called.first.tree,
        ledger=ledger,
        effects=called.effects,
        calls=called.results.row(),
        growth=called.growth,
        checks=checks,
        texts=ProgramTexts(jaxpr=KeptText.of(counted.jaxpr), stablehlo=KeptText.of(counted.text)),
    )


def _jaxpr(counted: Counted, donated: Collection[Any]) -> JaxprCounts:
    facts, (working, operations) = counted.facts, counted.work
    arrays = [each.value for each in facts.captured]
    return JaxprCounts(
        equations=facts.equations,
        captured_arrays=len(facts.captured),
        captured_bytes=facts.captured_bytes,
        captured_values=facts.digest_of_captured(),
        committed_arrays=sum(
            values.devices_of(each) == 1 and values.is_committed(each) is True for each in arrays
        ),
        sharded_arrays=sum(values.devices_of(each) > 1 for each in arrays),
        working_equations=working,
        operations=round(operations),
        captured_repeated=counted.of_captured.repeated,
        moved=_moved(counted.of_captured.moved),
        donated_types=sum((tuple(each.shape), each.dtype) in donated for each in arrays),
    )


def _moved(found: Moved | None) -> MovedArray | None:
    if found is None:
        return None
    file, line = found.place.file, found.place.line
    return MovedArray(what=found.what, bytes=found.bytes, file=file, line=line)


def _stablehlo(counted: Counted) -> StableHloCounts:
    module = counted.module
    return StableHloCounts(
        text_bytes=counted.text_bytes,
        bytecode_bytes=counted.bytecode_bytes,
        operations=module.operations,
        functions=module.functions,
        constants=module.constants,
        constant_bytes=module.constant_bytes,
        operations_by_name=module.operations_by_name,
        array_operations=module.array_operations,
        main_order=module.main_order,
        argument_types=module.argument_types,
        callbacks=module.callbacks,
        marks_lost=module.marks_lost,
        inlined=_digests(module),
    )


def _digests(module: ModuleCounts) -> tuple[str, ...]:
    known = dict.fromkeys(each.digest for each in module.inlined if each.digest is not None)
    return tuple(known)[:MOST_DIGESTS]


def _host_memory(lowered: Lowered, compiled: Compiled, fresh: bool) -> HostMemory | None:
    lowering, compiling = lowered.peak.nbytes, compiled.peak.nbytes
    if lowering is None or compiling is None:
        return None
    return HostMemory(trace_and_lower=lowering, compile=compiling, fresh=fresh)


def _times(clock: StageClock, times: CallTimes, cached: Cached) -> StageTimes:
    seconds = clock.seconds
    return StageTimes(
        trace=seconds["trace"],
        lower=seconds["lower"],
        compile=seconds["compile"],
        first_call=seconds["first call"],
        call=times.call,
        dispatch=times.dispatch,
        call_samples=times.samples,
        cached_compile=cached.seconds,
        call_seconds=times.seconds,
        processor=sum(clock.processor[name] for name in ("trace", "lower", "compile")),
        call_processor=times.processor,
    )


# -- arguments -------------------------------------------------------------------------------------

_SCALARS = (bool, int, float, complex, str, bytes)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def described(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[ArgumentLeaf, ...]:
    """Describe each leaf of the arguments, named by the parameter of `fun` that takes it.

    Two runs of one program that were called with other values are not expected to agree.

    Example::

        described(lambda x: x, (np.ones(3),), {})[0].path == "x"
    """
    return tuple(_argument(path, leaf) for path, leaf in by_path(fun, args, kwargs))


def by_path(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield each leaf of the arguments after its path, which begins with the parameter of `fun`."""
    for name, value in _by_name(fun, args, kwargs):
        for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
            yield f"{name}{jax.tree_util.keystr(path)}", leaf


def _by_name(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Pair each argument with its parameter; where none is known, with its number."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):  # some builtins have no signature
        parameters = []
    names = [each.name for each in parameters if each.kind in _POSITIONAL][: len(args)]
    names += [f"argument {number}" for number in range(len(names), len(args))]
    return [*zip(names, args, strict=True), *kwargs.items()]


def _argument(path: str, leaf: Any) -> ArgumentLeaf:
    if isinstance(leaf, _SCALARS):
        digest = hashlib.sha256(repr(leaf).encode("utf-8", "surrogatepass")).hexdigest()
        return ArgumentLeaf(path=path, shape=(), dtype=type(leaf).__name__, sha256=digest)
    if isinstance(leaf, jax.ShapeDtypeStruct):
        shape = tuple(size if isinstance(size, int) else str(size) for size in leaf.shape)
        return ArgumentLeaf(path=path, shape=shape, dtype=str(leaf.dtype), sha256="")
    if not isinstance(leaf, (np.ndarray, np.generic, jax.Array)):
        return ArgumentLeaf(path=path, shape=(), dtype=type(leaf).__name__, sha256="")
    array = captured_value(leaf)
    size = array.bytes if array else leaf.nbytes
    has_bytes = leaf.dtype != object  # else they are addresses, which differ from run to run
    return ArgumentLeaf(
        path=path,
        shape=tuple(leaf.shape),
        dtype=str(leaf.dtype),
        sha256=digest_of(leaf) if has_bytes and is_readable(leaf, size) else "",
    )
