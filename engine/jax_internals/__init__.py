"""Every private JAX name that the project uses: only this package imports `jax._src` and jaxlib.

A linter and a test check the rest of the tree, so porting to another JAX means reading these files.
A version in a comment is the JAX that the code was read and run against; where versions differ,
`differences.py` probes for the capability.

Why private names at all: three needs of this project have no public API. JAX's flag for its
representation will go, so this project decides the form of a trace where JAX asks for it. A call
that runs no Python needs jaxlib's dispatcher with a cache miss of ours. And a lowered computation
has to carry const args that JAX did not hoist itself.

This file is the table of contents.
"""

from engine.jax_internals.supported_versions import require_supported_version

require_supported_version()  # first: the imports below may fail on another version

from jax._src.core import Jaxpr, JaxprEqn, Literal, Var

from engine.jax_internals.arrays import (
    buffer_type,
    follows_arguments_as_it_is,
    in_default_memory,
    uncommitted,
    undisturbed,
    with_buffer,
)
from engine.jax_internals.bodies import (
    Body,
    bodies_of,
    closed_over,
    consts_of,
    is_body,
    is_of_jax,
    open_part,
    replaced,
)
from engine.jax_internals.captured_warnings import warn_of_constant, warn_of_total
from engine.jax_internals.compiling import (
    Executables,
    compile_into,
    const_shardings,
    holds_callbacks,
    register_cache,
)
from engine.jax_internals.differences import (
    ClosedJaxpr,
    is_flat_tree,
    is_shape_alone,
    num_scan_consts,
    traced_fields,
    with_scan_consts,
)
from engine.jax_internals.dispatch import (
    CallCache,
    Trace,
    call_errors,
    count_cache_miss,
    evaluated,
    fastpath_data,
    watched_jit,
)
from engine.jax_internals.executable_parts import (
    KINDS_OF_SHARDINGS,
    ExecutableParts,
    all_input_avals,
    executable_of,
    executable_parts,
    platform_version,
)
from engine.jax_internals.hooks import name_functions, tell_captures, tell_traces
from engine.jax_internals.inlined_constants import arrays_made_by, inlined_constants
from engine.jax_internals.jaxprs import (
    COMPARED_BY_EQUALITY,
    are_plain_arrays,
    argument_names,
    give_type_to,
    is_plain_array,
    is_plain_equation,
    is_reference,
    is_tracer,
    keep_aval,
    literal,
    live_part,
    nbytes,
    new_var,
    of_its_own_type,
    prunes_operands,
    stand_in_for,
    typeof,
)
from engine.jax_internals.literals import form_of_jaxprs, jax_emits_simplified_jaxprs
from engine.jax_internals.lowering import (
    Computation,
    Hoisted,
    const_operands,
    lower,
    options_of,
    stated_shardings,
    with_layouts_of_arguments,
    without_arguments,
)
from engine.jax_internals.names import (
    JAXLIB_VERSION,
    UNSPECIFIED,
    Executable,
    JitInfo,
    LoweringParameters,
    PjitParams,
    api_boundary,
)
from engine.jax_internals.placement import (
    PlacementError,
    computing_device,
    placement_errors,
    platforms_of_context,
    with_arguments,
)
from engine.jax_internals.settings import (
    TracedSetting,
    captured_constants_warn_bytes,
    held,
    jax_embedded_constants_max_bytes,
    settings,
)
from engine.jax_internals.shared_constants import shared_constants
from engine.jax_internals.source_info import (
    NO_NAMES,
    are_of_one_place,
    hide_from_tracebacks,
    named_within,
    names_inside,
    user_frames,
)
from engine.jax_internals.stages import (
    argument_info,
    argument_types_of,
    call_exported,
    call_params,
    can_be_exported,
    cotangent,
    exported_shardings,
    lowering_of,
    params_of,
    replace_const_args,
    tangent_aval,
    types_beside,
    types_of_arguments,
    with_jaxpr,
)
from engine.jax_internals.tracing import (
    ProgramName,
    argument_types,
    bind_jit,
    check_arguments,
    check_tracing_is_allowed,
    expanded,
    infer_params,
    is_expanded_before_a_call,
    jit_info,
    outside_of_transformations,
    staged_by_jax,
    stock_jit,
)
