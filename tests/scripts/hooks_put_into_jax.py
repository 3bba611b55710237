"""Print the names of the parts of JAX that an action replaced.

The argument is the action: "every module" imports each file of the engine and of the pipelines, but
runs no __init__ of a package; "engine" imports the engine; "engine again" reloads it, and what the
first import replaced does not count.
"""

import importlib
import importlib.util
import pkgutil
import sys
import types
from pathlib import Path

import jax.experimental.layout
import jax.export
import jax.extend  # noqa: F401
from jax._src import config, core, pjit, traceback_util  # noqa: TID251 - the places of the hooks
from jax._src.interpreters import ad, partial_eval, pxla  # noqa: TID251

OURS = ("engine", "legacy_closedjaxpr", "simplified_consts")


def hooked():
    trace = partial_eval.DynamicJaxprTrace
    return {
        "new_const": trace.new_const,
        "pure": trace.pure,
        "lift": trace.lift,
        "is_literalable": core.is_literalable,
        "implementation": pjit.jit_p.impl,
        "transposition": ad.fancy_transposes[pjit.jit_p],
        "jit_trace": pjit.jit_trace,
        "infer_params": pjit._infer_params,
        "cached_compilation": pxla._cached_compilation,
        "flag": type(config.use_simplified_jaxpr_constants).value,
        "types of constants": len(core.pytype_aval_mappings),
        "hidden": [path for path in traceback_util._exclude_paths if path.endswith(OURS)],
    }


def import_every_module():
    for name in OURS:
        # A stand-in for the package, so that its __init__ does not run.
        package = types.ModuleType(name)
        package.__path__ = [str(Path(importlib.util.find_spec(name).origin).parent)]
        sys.modules[name] = package
    for name in OURS:
        for module in pkgutil.walk_packages(sys.modules[name].__path__, name + "."):
            importlib.import_module(module.name)


before = hooked()
match sys.argv[1]:
    case "every module":
        import_every_module()
    case "engine":
        importlib.import_module("engine")
    case "engine again":
        engine = importlib.import_module("engine")
        before = hooked()
        importlib.reload(engine)
after = hooked()
print(*[name for name, was in before.items() if after[name] != was])
