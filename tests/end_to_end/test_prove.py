"""`constparity prove`, end to end: programs of each answer, in processes of stock JAX."""

import html
import json

import jsonschema
import pytest
from junitparser import JUnitXml

from parity_tests.cli import app
from reports import load_result
from reports.output import json_file

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
        raise ValueError("not after the flip")
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


class Scale:
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
    asked = [f"--report={name}:{folder}/{name}.out" for name in ("junit", "sarif", "html")]
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


def test_what_may_break_although_it_is_proved_is_told(found):
    _, rows, _ = found
    kinds = {name: {each["kind"] for each in row["hazards"]} for name, row in rows.items()}
    assert kinds["proved"] == set()
    assert kinds["may_break"] == {"writeable NumPy array"}
    assert "captured and donated" in kinds["captured_and_donated"]


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
    """What the module here evaluates to; those for other platforms are not evaluated."""
    by_form = {
        (each["of"], each.get("platform", "")): each["evaluated"] for each in rows[name]["claims"]
    }
    found = by_form.pop(("module", ""))
    assert set(by_form.values()) == {None}
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
    assert evaluated(rows, "on_other_devices") == {
        "equal_on": (), "other": None,
        "why_not": "it runs on 2 devices, and the interpreter on one",
    }  # fmt: skip


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
    assert "proof: 5 of 16 programs proved; 2 of these may still break" in page
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


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--platforms", "gpu"], "no platform 'gpu'; they are cpu, cuda, rocm, tpu"),
        (["--sides", "legacy,simplified,jax-legacy"], "a proof has two sides"),
    ],
)
def test_wrong_options_are_told(option, said, capsys):
    assert app.main(["prove", "nothing.py", *option]) == 4
    assert said in " ".join(capsys.readouterr().err.split())
