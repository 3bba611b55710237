"""Source information: hidden frames, name stacks, places of equations."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

from jax._src import core, pjit
from jax._src import source_info_util as _source_info_util
from jax._src import traceback_util as _traceback_util
from jax._src import util as _util


def hide_from_tracebacks(package: str) -> None:
    """Leave the files of a folder, a package, out of tracebacks and of the places of equations.

    JAX keeps two lists (jax 0.10.2): frames left out of exceptions, and frames left out of the
    source information of jaxprs, StableHLO and profiles.
    """
    _traceback_util.register_exclusion(package)
    _source_info_util.register_exclusion(package + os.sep)


NO_NAMES = _source_info_util.new_name_stack()


def names_inside(names: Any, eqn: core.JaxprEqn) -> Any:
    """Return the name stack inside the bodies of an equation; `names` is the stack around it."""
    inside = names + eqn.source_info.name_stack
    if eqn.primitive is pjit.jit_p:
        return inside.extend(_util.wrap_name("jit", eqn.params["name"]))
    return inside


def named_within(names: Any, eqn: core.JaxprEqn) -> core.JaxprEqn:
    """Return an equation moved out of a function or loop of name stack `names`, which it keeps."""
    name_stack = names + eqn.source_info.name_stack
    source_info = eqn.source_info.replace(name_stack=name_stack)
    eqn = eqn.replace(source_info=source_info)
    return eqn


def user_frames(source_info: Any, count: int) -> list[tuple[str, int, str]]:
    """Return file, line and function of the user's frames that made an equation, innermost first.

    At most `count` frames; -1 means all.
    """
    frames = _source_info_util.user_frames(source_info.traceback)
    wanted = itertools.islice(frames, None if count < 0 else count)
    return [(frame.file_name, frame.start_line, frame.function_name) for frame in wanted]


def are_of_one_place(one: Any, other: Any) -> bool:
    """Say whether two equations have the same name stack and the same place in the user's files.

    JAX makes the locations in a module from these two alone (jax 0.10.2).
    """
    return one.name_stack == other.name_stack and (
        one.traceback == other.traceback or _have_the_same_frames(one.traceback, other.traceback)
    )


# Tracebacks are compared by instruction, and CPython may use another instruction for the same
# expression once it has specialised it; so unequal tracebacks are compared by their frames.
@functools.lru_cache(maxsize=4096)
def _have_the_same_frames(one: Any, other: Any) -> bool:
    frames = [list(_source_info_util.user_frames(traceback)) for traceback in (one, other)]
    return None not in (one, other) and frames[0] == frames[1]
