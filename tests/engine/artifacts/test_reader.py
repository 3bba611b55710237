"""Reading files of hoisted exports: other readers understand them, and bad ones are refused."""

import hashlib
import json
import pickle
import random
import sys
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import export
from engine.artifacts import container
from parity_tests.cli import app

TABLE = np.arange(64, dtype=np.float32).reshape(8, 8)
KEYS = jax.random.split(jax.random.key(3), 5)


@pytest.fixture(scope="module")
def good():
    """The bytes of a small file: two programs, an array, keys."""

    def fun(x):
        return jnp.sum(jnp.sin(x @ TABLE) * jax.random.uniform(KEYS[1], (8,)))

    jitted = engine.jit(fun, constants="simplified")
    exported = export.export(jitted, hoist_constants=True)(jnp.ones(8))
    return bytes(exported.serialize(vjp_order=1))


def parts(data):
    """A file taken apart: its header as an object, and the bytes of its tensors."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    return header, json.loads(header["__metadata__"]["manifest"]), data[8 + size :]


def sealed(header, manifest, rest):
    """A file put together by hand, with a valid digest."""
    header["__metadata__"]["manifest"] = json.dumps(manifest)
    none = header["__metadata__"]["header_sha256"] = "0" * 64
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-(8 + len(raw)) % 64)
    raw = raw.replace(none.encode(), hashlib.sha256(raw).hexdigest().encode(), 1)
    return len(raw).to_bytes(8, "little") + raw + rest


def use(data):
    """Read everything in a file, as `load` and a call do."""
    loaded = export.deserialize(data)
    constants = [*loaded.constants, *(loaded.vjp().constants if loaded.has_vjp() else ())]
    keys = jax.dtypes.prng_key
    return [
        np.asarray(jax.random.key_data(c) if jax.dtypes.issubdtype(c.dtype, keys) else c)
        for c in constants
    ]


def test_the_good_file_is_good(good):
    assert [a.shape for a in use(good)] == [(5, 2), (8, 8)] * 2
    assert [a.shape for a in use(sealed(*parts(good)))] == [(5, 2), (8, 8)] * 2


def test_safetensors_reads_it(good, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    tensors = numpy.load(good)
    np.testing.assert_array_equal(tensors["constant.1"], TABLE)
    np.testing.assert_array_equal(tensors["constant.0"], jax.random.key_data(KEYS))
    assert {n for n in tensors if not n.startswith("padding.")} == {
        "program.0", "program.1", "constant.0", "constant.1"
    }  # fmt: skip


def test_every_tensor_begins_at_64_bytes(good):
    header, _, rest = parts(good)
    start = len(good) - len(rest)
    offsets = [start + e["data_offsets"][0] for n, e in header.items()
               if not n.startswith(("padding.", "__metadata__"))]  # fmt: skip
    assert len(offsets) == 4
    assert all(offset % 64 == 0 for offset in offsets)


def test_a_mapped_file_outlives_its_name(tmp_path, good):
    path = tmp_path / "f"
    path.write_bytes(good)
    loaded = export.load(path)
    path.unlink()
    np.testing.assert_array_equal(loaded.constants[1], TABLE)


def change(good, what):
    """A valid file with one change made by hand."""
    header, manifest, rest = parts(good)
    changed = what(header, manifest)
    return sealed(header, manifest, changed if isinstance(changed, bytes) else rest)


def rename(header, old, new):
    header[new] = header.pop(old)


BY_HAND = {
    "another format": (
        lambda h, m: h["__metadata__"].update(format="other"), "of format 'other'"),
    "another version": (
        lambda h, m: h["__metadata__"].update(format_version="2"), "has version '2' of the format"),
    "no manifest": (
        lambda h, m: m.clear(), "lacks entries or has wrong ones"),
    "no program": (
        lambda h, m: m.update(programs=[]), "lacks entries or has wrong ones"),
    "a program that is not there": (
        lambda h, m: m["programs"][0].update(tensor="program.9"), "lacks program.9"),
    "a constant too many": (
        lambda h, m: m["programs"][0]["constants"].append(2), "needs constant 2"),
    "a constant too few": (
        lambda h, m: m["programs"][0].update(constants=[0]), "program.0 takes constants of types"),
    "a constant of no program": (
        lambda h, m: m["constants"].append(dict(m["constants"][1])), "no program .* constant 2"),
    "a constant that is not there": (
        lambda h, m: rename(h, "constant.1", "constant.7"), "lacks constant.1, constant 1"),
    "a constant of another shape": (
        lambda h, m: m["constants"][1].update(shape=[4, 16]), "constant 1 should be float32"),
    "a constant of another shape in both": (
        lambda h, m: [each.update(shape=[4, 16]) for each in (m["constants"][1], h["constant.1"])],
        "program.0 takes constants of types"),
    "a constant of another dtype": (
        lambda h, m: m["constants"][1].update(dtype="int32"), "constant 1 should be int32"),
    "a dtype of NumPy's that is none of JAX": (
        lambda h, m: m["constants"][1].update(dtype="O"), "constants of dtype O"),
    "a generator that nobody knows": (
        lambda h, m: m["constants"][0].update(key_impl="mine"), "PRNG keys of 'mine'"),
    "keys of another size": (
        lambda h, m: m["constants"][0].update(key_impl="rbg"), "PRNG keys of 'rbg'"),
    "no checksum": (
        lambda h, m: m["crc32"].clear(), "no checksum of constant 0"),
    "another checksum": (
        lambda h, m: m["crc32"].update({"constant.1": 1}), "the bytes of constant 1 are not"),
    "another digest of a program": (
        lambda h, m: m["programs"][1].update(sha256="1" * 64), "program.1 is not what was written"),
    "a name that climbs": (
        lambda h, m: rename(h, "constant.0", "../../etc/passwd"), "so that none is a path"),
    "a name with a folder": (
        lambda h, m: rename(h, "constant.0", "a/b"), "so that none is a path"),
    "a name with dots": (
        lambda h, m: rename(h, "constant.0", "a..b"), "so that none is a path"),
    "a tensor beyond the end": (
        lambda h, m: h["constant.1"].update(data_offsets=[0, 2**60]), "lies at 0 to"),
    "tensors that overlap": (
        lambda h, m: h["constant.1"].update(data_offsets=[64, 320]), "begins at"),
    "a tensor with fewer bytes than its shape": (
        lambda h, m: h["constant.1"].update(shape=[8, 9]), "does not take 256 bytes"),
    "a shape of 2**120 elements": (
        lambda h, m: h["constant.1"].update(shape=[2**60, 2**60]), "does not take 256 bytes"),
    "a shape without end": (
        lambda h, m: h["constant.1"].update(shape=[1] * 1000), "invalid shape"),
    "negative numbers": (
        lambda h, m: h["constant.1"].update(data_offsets=[-256, 0]), "invalid shape"),
    "numbers that are none": (
        lambda h, m: h["constant.1"].update(shape=[True, 8.0]), "invalid shape"),
    "an unknown dtype": (
        lambda h, m: h["constant.1"].update(dtype="F7"), "unknown dtype 'F7'"),
    "an entry with more": (
        lambda h, m: h["constant.1"].update(more=1), "must have dtype, shape and data_offsets"),
    "bytes after the end": (
        lambda h, m: b"", "bytes and its header describes|lies at"),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_a_file_that_is_wrong_is_refused_and_says_why(good, name):
    what, message = BY_HAND[name]
    with pytest.raises(export.ContainerError, match=message):
        use(change(good, what))


RAW = {
    "nothing": lambda good: b"",
    "too short": lambda good: good[:7],
    "a header of 2**60 bytes": lambda good: (2**60).to_bytes(8, "little") + good[8:],
    "a header of all bytes but one": lambda good: (len(good) - 9).to_bytes(8, "little") + good[8:],
    "half of it": lambda good: good[: len(good) // 2],
    "all but the last byte": lambda good: good[:-1],
    "one byte more": lambda good: good + b"\0",
    "another beginning": lambda good: good[:8] + b"[" + good[9:],
    "a pickle": lambda good: b"\x80\x04\x95" + good,
    "a header that is not JSON": lambda good: b"\x10" + bytes(7) + b"{" * 16,
    "a file of zeros": lambda good: bytes(4096),
}


@pytest.mark.parametrize("name", RAW)
def test_other_files_are_refused(good, tmp_path, name):
    path = tmp_path / "f"
    path.write_bytes(RAW[name](good))
    for read in (lambda: export.load(path), lambda: export.deserialize(path.read_bytes())):
        with pytest.raises(export.ContainerError):
            read()


def test_damage_to_both_signs_of_a_container_is_refused(good):
    data = bytearray(good)
    data[8] ^= 1
    data[10] ^= 1
    with pytest.raises(export.ContainerError, match="cannot be read as an export by this JAX"):
        export.deserialize(data)
    for data in (good[:8] + bytes(32) + good[40:], b"PK\x03\x04" + bytes(200), pickle.dumps("a")):
        with pytest.raises(export.ContainerError, match="cannot be read as an export by this JAX"):
            export.deserialize(data)


def test_a_plain_export_that_was_cut_off_is_refused():
    blob = jax.export.export(jax.jit(jnp.sin))(1.0).serialize()
    assert export.deserialize(blob).call(0.0) == 0.0
    for size in (0, 3, 4, 7, 8, 40, len(blob) // 2):
        with pytest.raises(export.ContainerError, match="cannot be read as an export by this JAX"):
            export.deserialize(blob[:size])


def with_program(good, order, program):
    """A valid file with other bytes for a program."""
    header, manifest, rest = parts(good)
    first, last = header[f"program.{order}"]["data_offsets"]
    program = program(rest[first:last], rest)[: last - first]
    manifest["programs"][order]["sha256"] = hashlib.sha256(program).hexdigest()
    header[f"program.{order}"]["shape"] = [len(program)]
    for entry in header.values():
        if "data_offsets" in entry:
            entry["data_offsets"] = [
                place - (last - first - len(program)) * (place >= last)
                for place in entry["data_offsets"]
            ]
    return sealed(header, manifest, rest[:first] + program + rest[last:])


PROGRAMS = {
    "junk": lambda program, rest: random.Random(1).randbytes(len(program)),
    "zeros": lambda program, rest: bytes(len(program)),
    "nothing": lambda program, rest: b"",
    "half of it": lambda program, rest: program[: len(program) // 2],
    "a junk module": lambda program, rest: junk_module(program),
}


def junk_module(program):
    module = jax.export.deserialize(bytearray(program)).mlir_module_serialized
    assert program.count(module) == 1
    return program.replace(module, random.Random(2).randbytes(len(module)))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", PROGRAMS)
def test_bytes_that_are_no_program_are_refused(good, tmp_path, capsys, order, name):
    path = tmp_path / "f"
    path.write_bytes(with_program(good, order, PROGRAMS[name]))
    if name != "a junk module":  # JAX parses the module at a call or when it is shown
        with pytest.raises(export.ContainerError, match=f"program.{order}"):
            export.load(path)
    assert app.main(["export", "inspect", "--module", str(path)]) == 4
    assert f"cannot read {path}: program.{order}" in capsys.readouterr().err


def test_a_file_put_together_with_the_same_program_is_good(good):
    assert with_program(good, 0, lambda program, rest: program) == sealed(*parts(good))
    use(with_program(good, 1, lambda program, rest: program))


def test_a_program_is_no_derivative_of_itself(good):
    def replaced(header, manifest):
        manifest["programs"][1] = manifest["programs"][0]

    with pytest.raises(export.ContainerError, match=r"not the derivative of program\.0"):
        use(change(good, replaced))


DESCRIPTIONS = {
    "function": "other", "inputs": ["int8[9]"], "outputs": [], "platforms": ["tpu"],
    "devices": -99, "calling_convention_version": 3,
}  # fmt: skip


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_a_manifest_that_describes_another_program_is_refused(good, name):
    header, manifest, rest = parts(good)
    manifest["programs"][1][name] = DESCRIPTIONS[name]
    with pytest.raises(export.ContainerError, match=rf"program\.1 that its {name} is"):
        use(sealed(header, manifest, rest))


def test_a_file_of_another_program_is_refused(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"a": TABLE}, tmp_path / "f")
    with pytest.raises(export.ContainerError, match="made by another program"):
        export.load(tmp_path / "f")
    with pytest.raises(OSError, match="f2"):
        export.load(tmp_path / "f2")
    with pytest.raises(OSError, match="directory"):
        export.load(tmp_path)


@pytest.fixture
def only_good_programs(monkeypatch, good):
    """Assert that JAX parses only programs as they were written, or bytes that are no container."""
    _, manifest, _ = parts(good)
    digests = {program["sha256"] for program in manifest["programs"]}
    stock, seen = jax.export.deserialize, {}

    def deserialize(blob):
        digest = hashlib.sha256(blob).hexdigest()
        if digest not in digests:
            assert not container.looks_like_a_container(blob)
            assert sys._getframe(2).f_code is export.deserialize.__code__  # the bytes given to it
            return stock(blob)
        if digest not in seen:
            seen[digest] = stock(blob)
        return seen[digest]

    monkeypatch.setattr(jax.export, "deserialize", deserialize)


def damaged(good, rng):
    """A file with one kind of damage that disks, networks or editors cause."""
    data = bytearray(good)
    first, last = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    match rng.randrange(8):
        case 0:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            del data[first:]
        case 2:
            del data[first:last]
        case 3:
            data[first:first] = rng.randbytes(rng.randrange(1, 64))
        case 4:
            data[first:last] = bytes(last - first)
        case 5:
            data[first:first] = data[first:last]
        case 6:
            data[:8] = rng.choice([0, 1, 2**31, 2**60, 2**64 - 1, len(data)]).to_bytes(8, "little")
        case 7:
            data[first : first + 8] = rng.randbytes(8)
    return bytes(data)


def test_ten_thousand_damaged_files_are_refused(good, only_good_programs):
    """No crash, no hang, nothing allocated beyond the size of a file, and no other error."""
    rng = random.Random(20240619)
    use(good)
    tried = refused = 0
    for _ in range(10_500):
        data = damaged(good, rng)
        if data == good:
            continue
        tried += 1
        is_measured = tried % 5 == 0  # it takes as long again
        if is_measured:
            tracemalloc.start()
        refused += is_refused(data)
        if is_measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 3 * len(good) + 100_000
    assert refused == tried > 10_000


def test_no_damage_makes_reading_allocate_more_than_the_file():
    """As above, with a file much larger than what reading any file allocates."""
    table = np.arange(2**18, dtype=np.float32)
    jitted = engine.jit(lambda x: x + table, constants="simplified")
    exported = export.export(jitted, hoist_constants=True)(jnp.ones(2**18))
    large, rng = bytes(exported.serialize()), random.Random(7)
    for _ in range(500):
        end = rng.choice([8, 2000, len(large)])  # the length of the header, in it, and all
        data = damaged(large[:end], rng) + large[end:]
        tracemalloc.start()
        try:
            refused = is_refused(data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert refused or data == large
        assert peak < len(large)


def is_refused(data):
    try:
        use(data)
    except export.ContainerError:
        return True
    return False


def test_every_byte_of_a_file_counts(good, only_good_programs):
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 1 << place % 8
        assert is_refused(bytes(data)), place


def altered(value, rng):
    """A JSON value with one change made by hand."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(sorted(value))
        match rng.randrange(8):
            case 0:
                return {n: v for n, v in value.items() if n != name}
            case 1:
                return {n + "x" * (n == name): v for n, v in value.items()}
            case _:
                return {**value, name: altered(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        i = rng.randrange(len(value))
        return [*value[:i], altered(value[i], rng), *value[i + rng.randrange(1, 3) :]]
    return rng.choice(
        [None, True, -1, 0, 1, 2**31, 2**60, 2**64, 10**400, 0.5, "", "x", "../x", "a/b", "float32",
         "int4", "O", "rbg", [], {}, [0, 0], [[]] * 3, "constant.1", "program.1", str(value) * 2]
    )  # fmt: skip


def test_files_that_were_altered_and_sealed_anew(good, only_good_programs):
    """A file with a changed header is refused, or its constants are right."""
    rng = random.Random(7)
    expected = {array.tobytes() for array in use(good)}
    refused = 0
    for _ in range(3_000):
        header, manifest, rest = parts(good)
        if rng.random() < 0.5:
            manifest = altered(manifest, rng)
        else:
            name = rng.choice(sorted(set(header) - {"__metadata__"}))
            header[name] = altered(header[name], rng)
        try:
            found = use(sealed(header, manifest, rest))
        except export.ContainerError:
            refused += 1
        else:
            assert {array.tobytes() for array in found} <= expected
    assert refused > 1_000
