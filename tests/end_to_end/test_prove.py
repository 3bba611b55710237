"""`constparity prove`, end to end: programs of each answer, in processes of stock JAX."""

import contextvars
import html
import io
import json
import re
from collections import Counter

import jsonschema
import pandas
import pytest
from junitparser import JUnitXml
from rich.console import Console

from parity_tests.cli import app
from parity_tests.cli.exit_codes import TRACEBACKS
from parity_tests.cli.prove import print_proofs
from parity_tests.run import proving
from parity_tests.run.options import CampaignOptions
from reports import frames, load_result, render_report
from reports.output import json_file
from reports.rows import fail_rules

UNDECIDED = {
    "undecided", "with_a_callback_that_reads_the_flag", "reads_a_captured_reference",
}  # fmt: skip

PROGRAMS = """
import collections

import jax
import jax.numpy as jnp
import numpy as np
from parity_tests import program

W = jnp.asarray(np.arange(64.0, dtype=np.float32).reshape(8, 8))
N = np.arange(64.0, dtype=np.float32).reshape(8, 8)
X = np.ones(8, np.float32)
FLAG = jax.config.jax_use_simplified_jaxpr_constants


@program(args=(X,))
def proved(x):
    return jax.lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ W), x), W


@program(args=(X,))
def folds(x):
    return x @ jnp.exp(W)


@program(args=(X,))
def may_break(x):
    return x @ N


@program(args=(X,))
def parted(x):
    y = x @ W
    return y * 2.0 if FLAG else y + y


@program(args=(X,))
def of_other_bits(x):
    y = x @ W
    return {"loss": y * (2.0 if FLAG else 3.0)}


@program(args=(X,))
def of_another_type(x):
    return (x @ W).astype(jnp.float16 if FLAG else jnp.float32)


@program(args=(X,))
def with_another_tree(x):
    y = x @ W
    return [y] if FLAG else (y,)


@program(args=(X,))
def fails_after(x):
    if FLAG:
        raise ValueError("not after the flip\\nbut before")
    return x @ W


@program(args=(X,))
def fails_before(x):
    raise ValueError("never")


@program
def donates():
    step = jax.jit(lambda x, y: x @ W + y, donate_argnums=1)
    return step, (X, W[0])


@program
def captured_and_donated():
    row = jnp.asarray(np.ones(4096, np.float32))
    step = jax.jit(lambda x: x * row, donate_argnums=0)
    return step, (row,)


def scaled(x):
    return x * (2 if jax.config.jax_use_simplified_jaxpr_constants else 3)


@program(args=(X,))
def with_a_callback_that_reads_the_flag(x):
    return jax.pure_callback(scaled, x, x @ W)


@program
def reads_a_captured_reference():
    counter = jax.new_ref(jnp.ones(8))
    return (lambda x: x @ W + counter[...]), (X,)


Pair = collections.namedtuple("Pair", "a b" if FLAG else "b a")


@program(args=(X,))
def with_other_fields(x):
    return Pair(x @ W, x)


@program
def on_other_devices():
    devices = np.array(jax.devices()[:2])
    mesh = jax.sharding.Mesh(devices[::-1] if FLAG else devices, ("i",))
    row = jax.sharding.PartitionSpec("i")
    return jax.shard_map(lambda x: x * 2, mesh=mesh, in_specs=row, out_specs=row), (X,)


class Scale(metaclass=type("Kind", (type,), {})):
    def __call__(self, x):
        return x


@program(args=(X,))
def undecided(x):
    return jax.pure_callback(Scale(), x, x @ W)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("prove")


@pytest.fixture(scope="module")
def found(folder):
    """The report of these programs, and the exit status."""
    (folder / "programs.py").write_text(PROGRAMS)
    report = folder / "proofs.json"
    code = app.main(
        ["prove", str(folder / "programs.py"), "-q", "--report", f"json:{report}",
         "--report", f"html:{folder / 'proofs.html'}", "--platforms", "tpu"]
    )  # fmt: skip
    rows = {each.name: each.model_dump() for each in load_result(report).programs}
    return code, rows, (folder / "proofs.html").read_text()


@pytest.fixture(scope="module")
def kept(found, folder):
    """The folder with the JSON of these proofs, and other formats that were written of it."""
    formats = ("junit", "sarif", "html", "csv", "parquet")
    asked = [f"--report={name}:{folder}/{name}.out" for name in formats]
    assert app.main(["report", str(folder / "proofs.json"), *asked]) == 0
    return folder


def test_a_report_is_written_later_from_the_json_which_fits_its_schema(kept, found):
    _, _, page = found
    assert (kept / "html.out").read_text() == page
    schema = json_file.json_schema("proofs")
    jsonschema.Draft202012Validator(schema).validate(json.loads((kept / "proofs.json").read_text()))


def test_junit_has_a_failure_for_what_is_refuted_and_an_error_for_what_is_not_known(kept):
    [suite] = JUnitXml.fromfile(str(kept / "junit.out"))
    kinds = {case.name: [type(each).__name__ for each in case.result] for case in suite}
    assert kinds["proved"] == kinds["folds"] == []
    assert kinds["of_another_type"] == kinds["of_other_bits"] == ["Failure"]
    assert kinds["may_break"] == kinds["parted"] == kinds["undecided"] == ["Error"]


def test_tables_have_a_row_for_each_program_and_for_each_claim(kept, found):
    _, rows, _ = found
    programs = pandas.read_csv(kept / "csv.out", keep_default_na=False)
    assert dict(zip(programs.program, programs.proof, strict=True)) == {
        name: row["answer"] for name, row in rows.items()
    }
    [folds] = programs[programs.program == "folds"].to_dict("records")
    assert (folds["may_break"], folds["folds"], folds["captured"]) == (False, 1, 1)
    claims = pandas.read_parquet(kept / "parquet.claims.out")
    told = claims[claims.program == "proved"]
    assert list(zip(told.of, told.platform, told.answer, strict=True)) == [
        ("jaxpr", "", "proved"), ("module", "", "proved"), ("module", "tpu", "proved"),
    ]  # fmt: skip
    assert (told.digest_before == told.digest_after).all()
    [parted] = set(claims[(claims.program == "parted") & (claims.of == "jaxpr")].why)
    assert "before the flip, " in parted
    assert list(claims) == [each.name for each in frames.CLAIMS]
    assert list(programs) == [each.name for each in frames.PROVED_PROGRAMS]


def test_rules_name_the_answers_that_fail(kept, found):
    _, rows, _ = found
    may_break = {name for name, row in rows.items() if row["hazards"]}
    text = "different,new-failure,placement,hazard,hazard:folded,not-proved:undecided,not-compared"
    rules = fail_rules.parse(text)
    broken = fail_rules.broken(load_result(kept / "proofs.json"), rules)
    assert {each.rule.text: (each.status, set(each.programs)) for each in broken} == {
        "different": (
            "difference",
            {"of_another_type", "of_other_bits", "with_another_tree", "with_other_fields"},
        ),
        "new-failure": ("difference", {"fails_after"}),
        "hazard": (
            "could not compare", may_break,
        ),
        "hazard:folded": ("could not compare", {"folds"}),
        "not-proved:undecided": ("could not compare", UNDECIDED),
        "not-compared": (
            "could not compare", {"parted", "fails_before", "on_other_devices"} | UNDECIDED,
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        ([], 1, "fails on different: 4 programs"),
        (["--fail-on", "not-proved:parted"], 2, "fails on not-proved:parted: 2 programs"),
        (["--fail-on", "placement"], 0, "proof: 5 of 16 programs proved"),
        (["--exit-zero"], 0, "exit status 0 all the same (--exit-zero)"),
    ],
)
def test_rules_decide_the_exit_status(kept, monkeypatch, capsys, asked, code, said):
    proofs = load_result(kept / "proofs.json")
    monkeypatch.setattr(proving, "prove", lambda *args, **options: proofs)
    assert app.main(["prove", "programs.py", "--no-color", *asked]) == code
    assert said in capsys.readouterr().out


def test_a_program_that_breaks_no_rule_passes_in_junit(kept):
    proofs = load_result(kept / "proofs.json")
    text = render_report("junit", proofs, fail_rules.parse("new-failure"))
    [suite] = JUnitXml.fromstring(text.encode())
    assert [case.name for case in suite if case.result] == ["fails_after"]


def test_sarif_has_the_line_where_forms_part_and_that_of_a_hazard(kept):
    log = json.loads((kept / "sarif.out").read_text())
    [run] = log["runs"]
    lines = {
        (each["message"]["text"].partition(":")[0], each["ruleId"], each["level"]): (
            each["locations"][0]["physicalLocation"]["region"]["startLine"]
        )
        for each in run["results"]
    }
    at = PROGRAMS.splitlines().index
    assert lines["parted", "parted", "warning"] == at("    return y * 2.0 if FLAG else y + y") + 1
    assert lines["may_break", "may-break", "warning"] == at("    return x @ N") + 1
    assert ("of_another_type", "refuted", "error") in lines
    bits = at('    return {"loss": y * (2.0 if FLAG else 3.0)}') + 1
    assert lines["of_other_bits", "refuted", "error"] == bits
    assert not any(name in ("proved", "folds") for name, _, _ in lines)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("proved", "proved"),
        ("folds", "proved"),
        ("may_break", "proved"),
        ("parted", "parted"),
        ("of_other_bits", "refuted"),
        ("of_another_type", "refuted"),
        ("with_another_tree", "refuted"),
        ("fails_after", "refuted"),
        ("fails_before", "failed"),
        ("donates", "proved"),
        ("captured_and_donated", "proved"),
        ("undecided", "undecided"),
        ("with_a_callback_that_reads_the_flag", "undecided"),
        ("reads_a_captured_reference", "undecided"),
        ("with_other_fields", "refuted"),
        ("on_other_devices", "parted"),
    ],
)
def test_each_program_has_its_answer(found, name, answer):
    _, rows, _ = found
    assert rows[name]["answer"] == answer


def test_a_failure_has_the_users_line_and_with_debug_its_traceback(kept):
    proofs = load_result(kept / "proofs.json")
    debug = contextvars.copy_context()
    debug.run(TRACEBACKS.set, True)
    console = Console(file=io.StringIO())
    debug.run(print_proofs, console, proofs)
    said = console.file.getvalue()
    lines = [each.strip() for each in PROGRAMS.splitlines()]
    for when, message, more in (
        ("before", "never", ""),
        ("after", "not after the flip", r"\nbut before"),
    ):
        raised = 1 + lines.index(f'raise ValueError("{message}{more}")')
        what = f"{when} the flip: exception in trace: ValueError: {message}\n"
        assert f"programs.py:{raised}: {what}" in said
        assert f"    ValueError: {message}\n" in said
    assert "\nbut before" not in said  # the first line of a text; the traceback has the others
    assert said.count("    Traceback (most recent call last):\n") == 2
    assert ", in fails_before\n" in said


def test_what_may_break_although_it_is_proved_is_told(found):
    _, rows, _ = found
    kinds = {name: {each["kind"] for each in row["hazards"]} for name, row in rows.items()}
    assert kinds["proved"] == set()
    assert kinds["may_break"] == {"writeable NumPy array"}
    assert "captured and donated" in kinds["captured_and_donated"]


def test_a_hazard_of_many_programs_is_explained_once(kept):
    proofs = load_result(kept / "proofs.json")
    [program] = (each for each in proofs.programs if each.name == "may_break")
    twice = proofs.model_copy(update={"programs": (program, program)})
    console = Console(file=io.StringIO(), width=1000)
    print_proofs(console, twice)
    first, second = (
        each for each in console.file.getvalue().splitlines() if "NumPy array: " in each
    )
    assert "capture a copy of its own" in first
    [hazard] = program.hazards
    assert second == f"    writeable NumPy array: as above ({hazard.file}:{hazard.line})"


def test_what_explains_a_failure_after_the_flip_is_told_with_it(found):
    _, rows, _ = found
    assert [each["kind"] for each in rows["fails_after"]["hazards"]] == ["reads the flag"]


def test_a_program_that_parts_has_the_place(found):
    _, rows, _ = found
    for claim in rows["parted"]["claims"]:
        place = claim["place"]
        line = 1 + PROGRAMS.splitlines().index("    return y * 2.0 if FLAG else y + y")
        assert (place["file"].rpartition("/")[2], place["line"]) == ("programs.py", line)


def evaluated(rows, name):
    """What the module evaluates to, the same for the platform here and for the other one."""
    by_form = {
        (each["of"], each.get("platform", "")): each["evaluated"] for each in rows[name]["claims"]
    }
    assert by_form.pop(("jaxpr", "")) is None
    found = by_form.pop(("module", ""))
    assert list(by_form.items()) == [(("module", "tpu"), found)]
    return found


def test_other_bits_in_the_reference_interpreter_refute_a_program(found):
    """A row of ones times W is the sums of W's columns: 224 of the first one, with one of 1."""
    _, rows, page = found
    assert evaluated(rows, "of_other_bits") == {
        "equal_on": (),
        "other": {
            "inputs": "its own arguments", "result": "['loss']", "index": (0,),
            "before": "672.0", "after": "448.0", "elements": 8,
        },
        "why_not": "",
    }  # fmt: skip
    assert (
        "the reference interpreter gives other bits on its own arguments: 672.0 before the flip "
        "and 448.0 after it, at [0] of result['loss'], the first of 8 that differ"
    ) in html.unescape(page)


def test_the_same_bits_prove_nothing_and_are_told(found):
    _, rows, page = found
    assert evaluated(rows, "parted") == {
        "equal_on": ("its own arguments", "sample 1", "sample 2"), "other": None, "why_not": "",
    }  # fmt: skip
    assert (
        "the reference interpreter gives the same bits, up to NaNs and signs of zeros, on 3 inputs "
        "(its own arguments, sample 1, sample 2); this proves nothing of others"
    ) in html.unescape(page)


def test_what_the_interpreter_cannot_run_is_told(found):
    _, rows, _ = found
    _, here, away = rows["on_other_devices"]["claims"]
    assert here["evaluated"] == {
        "equal_on": (), "other": None,
        "why_not": "it runs on 2 devices, and the interpreter on one",
    }  # fmt: skip
    line = next(n for n, text in enumerate(PROGRAMS.splitlines(), 1) if "jax.devices()" in text)
    assert away["reason"].endswith(f"py:{line}), so it may be another program on tpu")


def test_nothing_is_evaluated_where_nothing_parts(found):
    _, rows, _ = found
    for name in ("proved", "of_another_type", "undecided"):
        assert {each["evaluated"] for each in rows[name]["claims"]} == {None}


def test_another_platform_is_proved_without_a_device(found):
    _, rows, _ = found
    claims = {(each["of"], each.get("platform", "")): each for each in rows["proved"]["claims"]}
    assert {key: each["answer"] for key, each in claims.items()} == {
        ("jaxpr", ""): "proved",
        ("module", ""): "proved",
        ("module", "tpu"): "proved",
    }
    # The same digest before the flip and after it, and another one on another platform.
    here, there = claims["module", ""], claims["module", "tpu"]
    assert here["before"] == here["after"]
    assert there["before"] == there["after"]


def test_a_refuted_program_fails_the_command_and_the_page_says_it(found):
    code, _, page = found
    assert code == 1
    assert "proof: 5 of 16 programs proved for tpu, as traced here; 2 of these may" in page
    assert "XLA folds constants of 1, so their bits may differ" in page


def test_what_xla_folds_in_one_form_is_told_and_breaks_nothing(found):
    _, rows, _ = found
    [fold] = rows["folds"]["folded"]
    assert (fold["gist"], rows["folds"]["hazards"]) == ("`exp`", ())
    assert [name for name, row in rows.items() if row.get("folded")] == ["folds"]


def test_numbers_are_lines_of_tabs(tmp_path, capsys):
    (tmp_path / "programs.py").write_text(PROGRAMS)
    code = app.main(["prove", f"{tmp_path}/programs.py:proved", "--numbers", "-q"])
    name, before, after = capsys.readouterr().out.strip().split("\t")
    assert (code, name, before == after, len(before)) == (0, "proved", True, 32)


def test_an_undecided_program_has_no_numbers(tmp_path, capsys):
    (tmp_path / "programs.py").write_text(PROGRAMS)
    name = "with_a_callback_that_reads_the_flag"
    code = app.main(["prove", f"{tmp_path}/programs.py:{name}", "--numbers", "-q"])
    assert (code, capsys.readouterr().out) == (2, f"{name}\tundecided\tundecided\n")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--platforms", "gpu"], "no platform 'gpu'; they are cpu, cuda, rocm, tpu"),
        (["--sides", "legacy,simplified,jax-legacy"], "a proof has two sides"),
        (["--fail-on", "slower:20%"], "'slower:20%' is about what a run measures"),
        (["--fail-on", "not-proved:proved"], "'not-proved:proved' names no answer"),
    ],
)
def test_wrong_options_are_told(option, said, capsys):
    assert app.main(["prove", "nothing.py", *option]) == 4
    assert said in " ".join(capsys.readouterr().err.split())


COUNTED = """
import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from parity_tests import program

HERE = pathlib.Path(__file__).parent
W, N, X = jnp.arange(64.0), np.arange(64.0, dtype=np.float32), np.ones(64, np.float32)


def traced(name):
    with open(HERE / "traces", "a") as file:
        file.write(f"{name} {os.getpid()}\\n")


@program(args=(X,))
def comes_first(x):
    traced("comes_first")
    return x * W


@program(args=(X,))
def may_break(x):
    traced("may_break")
    return x * N


@program(args=(X,))
def raises_after(x):
    traced("raises_after")
    return x * W if jax.make_jaxpr(lambda y: y * W)(x).consts else x.shaped


@program(args=(X,))
def reads(x):
    traced("reads")
    return x * W if jax.config.jax_enable_x64 else x + W
"""


def test_each_form_is_traced_once_and_hazards_are_read_off_that_trace(tmp_path):
    (tmp_path / "counted.py").write_text(COUNTED)
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=60.0)
    found = {
        each.name: each for each in proving.prove([f"{tmp_path}/counted.py"], options).programs
    }
    in_processes = Counter((tmp_path / "traces").read_text().splitlines())
    counts = {name: [] for name in found}
    for process, count in in_processes.items():
        counts[process.partition(" ")[0]].append(count)
    # What reads jaxprs or the flag is traced in both forms, and so is all that follows it.
    assert {name: sorted(each) for name, each in counts.items()} == {
        "comes_first": [1, 1], "may_break": [1, 1], "raises_after": [1, 3], "reads": [1, 2],
    }  # fmt: skip
    hazards = {name: [each.kind for each in row.hazards] for name, row in found.items()}
    assert hazards == {
        "comes_first": [], "may_break": ["writeable NumPy array"],
        "raises_after": ["reads jaxpr constants"], "reads": [],
    }  # fmt: skip


def test_run_says_where_a_program_parts_that_agrees_here(tmp_path, capsys):
    (tmp_path / "model.py").write_text(PROGRAMS)
    command = ["run", f"{tmp_path}/model.py:parted", "--sides", "jax-legacy,jax-simplified"]
    assert app.main(command) == 2
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("flip: not known. 1 of 1 programs agrees here, not proved (parted)")
    assert "fails on not-proved:parted: 1 program" in lines
    place = r"\S*model\.py:\d+"
    said = rf"    {place} .*: not proved: its two forms part: {place}: stablehlo\.\w+ "
    assert [each for each in lines if re.match(said, each)]
    assert app.main([*command, "--fail-on", "different,not-compared"]) == 0


HELD_TO_STOCK = """
import jax
import jax.numpy as jnp
import numpy as np
from parity_tests import program

W = np.arange(64.0, dtype="float32")


@program(args=(jnp.ones(64),))
@jax.jit
def step(x):
    return x + jnp.sin(x) * jnp.exp(W)
"""


@pytest.mark.parametrize(
    ("sides", "hazards", "folded"),
    [
        (("legacy", "jax-legacy"), [], []),
        (("simplified", "jax-simplified"), ["writeable NumPy array"], []),
        (("legacy", "simplified"), ["writeable NumPy array"], ["exp"]),
    ],
)
def test_sides_of_one_mode_are_not_parted_by_the_flip(tmp_path, sides, hazards, folded):
    (tmp_path / "held.py").write_text(HELD_TO_STOCK)
    [row] = proving.prove([f"{tmp_path}/held.py"], CampaignOptions(sides=sides)).programs
    assert (row.answer, [each.kind for each in row.hazards]) == ("proved", hazards)
    assert [each.gist for each in row.folded] == [f"`{each}`" for each in folded]


PINNED = """
import jax
import jax.numpy as jnp
from parity_tests import program

jax.config.update("jax_use_simplified_jaxpr_constants", False)
W = jnp.arange(64.0)


@program(args=(1.0,))
def step(x):
    return x * W
"""


def test_a_module_that_pins_the_flag_is_not_compared(tmp_path):
    (tmp_path / "pinned.py").write_text(PINNED)
    sides = ("jax-legacy", "jax-simplified")
    proofs = proving.prove([str(tmp_path / "pinned.py")], CampaignOptions(sides=sides))
    [program] = proofs.programs
    assert program.answer == "failed"
    assert "let nothing set jax_use_simplified_jaxpr_constants" in program.failure
