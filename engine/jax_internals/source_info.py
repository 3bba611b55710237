"""Source information: frames that are no user's, name stacks, places of equations."""

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
    """Say that the files of a package are no user's: in tracebacks, and as places of equations.

    JAX keeps two lists (jax 0.10.2): frames left out of an exception, and frames left out of the
    source information of jaxprs, StableHLO and profiles. `package` is its folder.
    """
    _traceback_util.register_exclusion(package)
    _source_info_util.register_exclusion(package + os.sep)


NO_NAMES = _source_info_util.new_name_stack()


def names_inside(names: Any, eqn: core.JaxprEqn) -> Any:
    """The name stack of what is in the bodies of an equation that stands within `names`."""
    inside = names + eqn.source_info.name_stack
    if eqn.primitive is pjit.jit_p:
        return inside.extend(_util.wrap_name("jit", eqn.params["name"]))
    return inside


def named_within(names: Any, eqn: core.JaxprEqn) -> core.JaxprEqn:
    """An equation as it is named where its function or loop, named `names`, is not around it."""
    name_stack = names + eqn.source_info.name_stack
    return eqn.replace(source_info=eqn.source_info.replace(name_stack=name_stack))


def user_frames(source_info: Any, count: int) -> list[tuple[str, int, str]]:
    """File, line and function of the frames of a user that made an equation, innermost first.

    At most `count` of them; all where it is -1.
    """
    frames = _source_info_util.user_frames(source_info.traceback)
    wanted = itertools.islice(frames, None if count < 0 else count)
    return [(frame.file_name, frame.start_line, frame.function_name) for frame in wanted]


def are_of_one_place(one: Any, other: Any) -> bool:
    """Whether the source records of two equations are of the same place in the user's files.

    Name stacks included; these are all that the locations in a module are made of (jax 0.10.2).
    """
    return one.name_stack == other.name_stack and (
        one.traceback == other.traceback or _have_the_same_frames(one.traceback, other.traceback)
    )


# Tracebacks differ by the instruction, and CPython may go by way of another instruction of the same
# expression once it has specialised it.
@functools.lru_cache(maxsize=4096)
def _have_the_same_frames(one: Any, other: Any) -> bool:
    frames = [list(_source_info_util.user_frames(traceback)) for traceback in (one, other)]
    return None not in (one, other) and frames[0] == frames[1]
