"""Write docs/jaxpr_examples.md: what stock JAX prints for the seeds' examples, in both modes.

    python tests/seeds/write_jaxpr_examples.py

Each mode is printed by a fresh process of stock JAX, which does not import the engine.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "jaxpr_examples.md"
MODULE = "parity_tests.corpus.seed_jaxprs"
INTRO = """# The examples of the jaxpr documents, in both representations

What JAX {version} prints for the functions of two documents (`func1` to `func13`), "Understanding
jaxprs" and "JAX internals: The jaxpr language" ([sources.md](sources.md)). The page is written by
`tests/seeds/write_jaxpr_examples.py` with stock JAX; `tests/seeds/test_jaxpr_documents.py` holds
`engine.make_jaxpr` to it. The functions ending in `_captured` capture an array where those of the
documents, on today's JAX, stage the operation out.
"""


def examples():
    """The programs of the seeds' documents, as `(name, source, fun, args, kwargs)`."""
    from parity_tests import targets

    for program in targets.load([MODULE]):
        source = inspect.getsource(program.function)
        yield program.name, source, *program.build()


def printed(make_jaxpr):
    """What a `make_jaxpr` makes of each example, without memory addresses."""
    texts = {}
    for name, _, fun, args, kwargs in examples():
        texts[name] = re.sub(r" at 0x[0-9a-f]+", "", str(make_jaxpr(fun)(*args, **kwargs)))
    return texts


def sections():
    """The texts on the page: `{name: {side: text}}`."""
    found = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        name = section.split("\n", 1)[0].strip()
        blocks = re.findall(r"^(legacy|simplified):\n\n```\n(.*?)\n```$", section, re.M | re.S)
        both = re.findall(r"^legacy and simplified:\n\n```\n(.*?)\n```$", section, re.M | re.S)
        found[name] = dict(blocks) or dict.fromkeys(("legacy", "simplified"), both[0])
    return found


def _stock(flag):
    script = (
        "import json, jax; from write_jaxpr_examples import printed;"
        "print(json.dumps(printed(jax.make_jaxpr)))"
    )
    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def main():
    """Print in both modes and write the page."""
    import jax

    legacy, simplified = _stock("0"), _stock("1")
    parts = [INTRO.format(version=jax.__version__)]
    for name, source, *_ in examples():
        parts.append(f"## {name}\n\n```python\n{source.strip()}\n```\n")
        if legacy[name] == simplified[name]:
            parts.append(f"legacy and simplified:\n\n```\n{legacy[name]}\n```\n")
            continue
        parts.append(f"legacy:\n\n```\n{legacy[name]}\n```\n")
        parts.append(f"simplified:\n\n```\n{simplified[name]}\n```\n")
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
