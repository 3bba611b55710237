"""What all tests run with; set before anything imports JAX."""

import os

# Eight host devices, so that placement can be tested.
_DEVICES = "--xla_force_host_platform_device_count=8"
# LLVM takes half of the time of all tests when it optimises. What XLA makes of a program before
# that, folding and fusion included, is the same; the built-in corpus is run with the user's flags.
_FAST = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"

os.environ.setdefault("CONSTPARITY_TEST_XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
for _flag in (_DEVICES, *_FAST.split()):
    if _flag.partition("=")[0] not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_flag}".strip()
