"""Write docs/understand/jaxpr_examples.md: what stock JAX prints for the seeds' examples.

    python tests/seeds/write_jaxpr_examples.py PYTHON...

Each PYTHON has another version of JAX, the oldest first. Each mode is printed by a fresh process of
stock JAX, which does not import the engine.
"""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "understand" / "jaxpr_examples.md"
MODULE = "parity_tests.corpus.seed_jaxprs"
INTRO = """# The examples of the jaxpr documents, in both representations

What JAX {oldest} prints for functions of two documents (`func1` to `func13`), "Understanding
jaxprs" and "JAX internals: The jaxpr language" ([sources](../carry_on/sources.md)). Written by
`tests/seeds/write_jaxpr_examples.py` with stock JAX; `tests/seeds/test_jaxpr_documents.py` holds
`engine.make_jaxpr` to it. The functions ending in `_captured` capture an array where those of the
documents, on today's JAX, stage the operation out. A text with a version beside it is what that JAX
and later ones print; where no text has one, all of {versions} print the same.
"""

LABELLED = re.compile(
    r"^(legacy|simplified|legacy and simplified)(?:, jax ([\d.]+))?:\n\n```\n(.*?)\n```$",
    re.MULTILINE | re.DOTALL,
)


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


def sections(version):
    """The texts on the page that a version of JAX prints: `{name: {side: text}}`.

    `version` is a tuple of numbers.
    """
    found = {}
    for section in PAGE.read_text().split("\n## ")[1:]:
        texts = found[section.split("\n", 1)[0].strip()] = {}
        for sides, since, text in LABELLED.findall(section):  # the oldest version comes first
            if not since or tuple(map(int, since.split("."))) <= version:
                texts.update(dict.fromkeys(sides.split(" and "), text))
    return found


def _stock(python, flag):
    script = (
        "import json, jax; from write_jaxpr_examples import printed;"
        "print(json.dumps([jax.__version__, printed(jax.make_jaxpr)]))"
    )
    paths = os.pathsep.join((str(ROOT), str(Path(__file__).parent)))
    done = subprocess.run(
        [python, "-c", script],
        env=os.environ | {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout)


def _texts(name, by_version):
    """Yield the labelled texts of an example, and each version's that differ from the one before.

    `by_version` is a list of `(version, {side: {name: text}})`.
    """
    before = None
    for version, by_side in by_version:
        texts = {side: printed[name] for side, printed in by_side.items()}
        since = f", jax {version}" if before else ""
        if texts != before:
            legacy, simplified = texts.values()
            both = {"legacy and simplified": legacy} if legacy == simplified else texts
            for sides, text in both.items():
                yield f"{sides}{since}:\n\n```\n{text}\n```\n"
        before = texts


def main(pythons):
    """Print in both modes with each interpreter, and write the page."""
    by_version = []
    for python in pythons:
        version, legacy = _stock(python, "0")
        by_version.append((version, {"legacy": legacy, "simplified": _stock(python, "1")[1]}))
    versions = [version for version, _ in by_version]
    parts = [INTRO.format(oldest=versions[0], versions=", ".join(versions))]
    for name, source, *_ in examples():
        parts.append(f"## {name}\n\n```python\n{source.strip()}\n```\n")
        parts.extend(_texts(name, by_version))
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
