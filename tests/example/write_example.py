"""Writes docs/example: a small result, and the reports that are drawn from it.

python tests/example/write_example.py            # runs the programs
python tests/example/write_example.py --render   # draws the reports again
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from reports import load_campaign, render_report
from reports.output import json_file
from reports.rows import Campaign, metrics

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "example"
RESULT = FOLDER / "result.json"
REPORTS = {
    "report.html": "html",
    "summary.md": "md",
    "comment.md": "comment",
    "junit.xml": "junit",
    "findings.sarif": "sarif",
}
COMMAND = ["run", "docs/example/programs.py", "--sides", "jax-legacy,jax-simplified"]
OPTIONS = ["--no-times", "--exit-zero", "-q"]
# Folders of one machine in tracebacks: of the checkout, of installed packages and of Python.
_FOLDERS = (
    (re.escape(f"{ROOT}/"), ""),
    (r'(?<=\\")/[^"\s]*/(?=(site-packages|python3\.\d+)/)', ""),
)
# Bytecode names the files of the checkout.
_OF_A_MACHINE = ("generated code bytes", "serialized bytes", "StableHLO bytecode bytes")


def measured() -> str:
    """Run the programs in a process of their own, and return the JSON without folders."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/result.json"
        # The tests give XLA flags that a user does not have.
        flags = os.environ.get("CONSTPARITY_TEST_XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
        subprocess.run(
            [
                sys.executable,
                "-m",
                "parity_tests.cli",
                *COMMAND,
                *OPTIONS,
                "--report",
                f"json:{file}",
            ],
            cwd=ROOT,
            env={**os.environ, "XLA_FLAGS": flags},
            check=True,
            capture_output=True,
        )
        text = Path(file).read_text("utf-8")
    for pattern, instead in _FOLDERS:
        text = re.sub(pattern, instead, text)
    return text


def rendered(campaign: Campaign) -> dict[str, str]:
    """Return the text of each report, by its file."""
    return {file: render_report(format_, campaign) for file, format_ in REPORTS.items()}


def steady(campaign: Campaign) -> str:
    """Return a result as text, without times and what else differs in every run or machine."""
    unsteady = {each.name for each in metrics.METRICS if each.unit == "seconds"}
    unsteady |= {each.name for each in metrics.METRICS if "peak host memory" in each.name}
    environment = campaign.environment
    alone = {
        name: getattr(environment, name)
        for name in ("constparity", "jax", "jaxlib", "backend", "device_kind", "device_count")
    }
    plain = dict.fromkeys(("python", "numpy", "system", "cpu"), "") | {"cpu_count": 1}
    text = json_file.render(
        campaign.model_copy(
            update={
                "created": "",
                "settings": None,
                "environment": type(environment)(**alone | plain),
                "programs": tuple(
                    row.model_copy(
                        update={
                            "observations": tuple(map(_steady, row.observations)),
                            "comparisons": tuple(
                                each
                                for each in row.comparisons
                                if each.metric not in (*unsteady, *_OF_A_MACHINE)
                            ),
                        }
                    )
                    for row in campaign.programs
                ),
            }
        )
    )
    # Lines of constparity's own files stand in the tracebacks of failures.
    return re.sub(r'"traceback":"(?:[^"\\]|\\.)*"', '"traceback":""', text)


def _steady(seen):
    gone = {"times": None, "host_memory": None, "measured_with": None}
    if seen.executable:
        gone["executable"] = seen.executable.model_copy(update={"serialized_bytes": None})
    if seen.stablehlo:
        gone["stablehlo"] = seen.stablehlo.model_copy(update={"bytecode_bytes": None})
    if seen.memory:
        gone["memory"] = seen.memory.model_copy(update={"generated_code": 0})
    return seen.model_copy(update=gone)


def main() -> None:
    """Write the result, unless it is only to be drawn again, and each report."""
    if "--render" not in sys.argv[1:]:
        RESULT.write_text(measured(), "utf-8")
    for file, text in rendered(load_campaign(RESULT)).items():
        (FOLDER / file).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
