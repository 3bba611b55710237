"""What all tests run with; set before anything imports JAX."""

import os

# What is set where the tests are run is for other programs; these are for the tests.
_FOR_TESTS = (
    "CONSTPARITY_EXAMPLES",
    "CONSTPARITY_OTHER_PYTHON",
    "CONSTPARITY_SEEDS",
    "CONSTPARITY_TEST_",
    "CONSTPARITY_WHOLE_CORPUS",
)
_FOR_OTHERS = (
    "COLUMNS",
    "CONSTPARITY_",
    "FORCE_COLOR",
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_ENABLE_X64",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS",
    "TTY_COMPATIBLE",
)
for _name in list(os.environ):
    if _name.startswith(_FOR_OTHERS) and not _name.startswith(_FOR_TESTS):
        del os.environ[_name]

# Eight host devices, so that placement can be tested.
_DEVICES = "--xla_force_host_platform_device_count=8"
# LLVM takes half of the time of all tests when it optimises. What XLA makes of a program before
# that, folding and fusion included, is the same; the built-in corpus is run with the user's flags.
_FAST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

os.environ.setdefault("CONSTPARITY_TEST_XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
for _flag in (_DEVICES, *_FAST.split()):
    if _flag.partition("=")[0] not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_flag}".strip()
