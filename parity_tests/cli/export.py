"""The commands `constparity export ...`, which show the contents of an exported file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.exit_codes import check_engine_runs, fail
from parity_tests.cli.help_pages import Command, Group
from parity_tests.cli.options import Reporting, with_options

if TYPE_CHECKING:
    from engine.artifacts.container import Container
    from engine.artifacts.hoisted_export import HoistedExport
    from engine.artifacts.manifest import Manifest

_LARGE = 2**28  # bytes that take seconds to read

export = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)


@export.callback()
@with_options
def _export() -> None:
    """Look at the files of hoisted exports.

    Examples:

      constparity export inspect f.safetensors
    """


@export.command(cls=Command)
@with_options
def inspect(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `save` of an export wrote.")],
    module: Annotated[
        bool, typer.Option("--module", help="Print the StableHLO of the programs, too.")
    ] = False,
    *,
    reporting: Annotated[Reporting, ("json",)],
) -> None:
    """Show the programs and the constants of an exported file, with sizes and versions.

    Nothing of the file is compiled or run. The bytes of each constant are compared with their
    checksum. The numbers of the constants are those that `constants=` of `engine.export.load`
    takes.

    Exits with 4 where the file cannot be read or is damaged.

    Examples:

      constparity export inspect f.safetensors

      constparity export inspect f.safetensors --module
    """
    check_engine_runs("export inspect")
    from engine.artifacts import container as containers
    from engine.artifacts import reader
    from engine.artifacts.manifest import Manifest
    from parity_tests.cli import terminal
    from parity_tests.cli.report_option import write_data
    from reports.views.figures import humanise_bytes

    requests = reporting.requests(context)
    try:
        container = containers.parse(containers.mapped(file))
        manifest = Manifest.of(container)
        with terminal.progress(first="reading the export") as shown:
            if container.nbytes > _LARGE:  # all of it is read, at the speed of the disk
                size = humanise_bytes(container.nbytes)
                shown(0, 0, f"{file}: comparing {size} with their checksums")
            exported = reader.read(container)
            modules = [_module(exported, 0)]
            while exported.has_vjp():
                exported = exported.vjp()
                modules.append(_module(exported, len(modules)))
            reader.check_constants(container, manifest)
    except OSError as error:
        fail(f"cannot read {str(file)!r}: {error.strerror or error}; check the path")
    except ValueError as error:  # also of nodes whose type is not registered here
        fail(f"cannot read {file}: {error}")
    console = terminal.console()
    for line in _lines(file, container, manifest):
        terminal.say(console, terminal.on_one_line(line))
    for text in modules if module else ():
        console.print(text, highlight=False, markup=False, soft_wrap=True)
    write_data(context, console, requests, manifest)


def _module(exported: HoistedExport, order: int) -> str:
    """Return the StableHLO of a program; `load` does not parse it, so it may be damaged."""
    import jax

    from engine.artifacts.container import ContainerError

    try:
        return str(exported.mlir_module())
    except jax.errors.JaxRuntimeError as error:
        raise ContainerError(f"program.{order} has no StableHLO that is one ({error})") from error


def _lines(file: Path, container: Container, manifest: Manifest) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    format_, version = (container.metadata[name] for name in ("format", "format_version"))
    lines = [f"{file}: {format_} version {version}, {container.nbytes:,} bytes; {versions}"]
    for order, program in enumerate(manifest.programs):
        name = "program" if order == 0 else f"derivative {order}"
        lines += [
            f"{name}: {program['function']}, "
            f"{container.tensors[program['tensor']].nbytes:,} bytes, for "
            f"{'/'.join(program['platforms'])} on {program['devices']} "
            f"device{'s' * (program['devices'] != 1)}, "
            f"calling convention {program['calling_convention_version']}",
            f"  constants: {', '.join(map(str, program['constants'])) or 'none'}",
            f"  inputs:    {', '.join(program['inputs']) or 'none'}",
            f"  outputs:   {', '.join(program['outputs']) or 'none'}",
        ]
    first: dict[str, int] = {}
    for number, entry in enumerate(manifest.constants):
        same = first.setdefault(entry["tensor"], number)
        size = f"{container.tensors[entry['tensor']].nbytes:,} bytes"
        shape = "x".join(map(str, entry["shape"])) or "scalar"
        key = f" (PRNG keys of {entry['key_impl']})" if entry["key_impl"] else ""
        stored = size if same == number else f"the bytes of constant {same}"
        lines.append(f"constant {number}: {entry['dtype']} {shape}{key}, {stored}")
    return lines
