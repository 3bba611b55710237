"""The kinds of results, and the formats that each can be written in.

A new kind is its rows in `reports/rows/`, its document in `reports/documents/`, and a line of
`KINDS`: commands, help texts, readers and writers go by it. Where it is read again,
`constparity schema KIND > reports/schemas/KIND.schema.json` writes its schema.

What `lint` and `doctor` find is no kind: it is about source files and installed packages, has JSON
without a `schema_version`, and no command reads it.

Rows and writers are imported at their first use: command lines name kinds and formats before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from reports.rows.row import Row

# In the order in which they are named.
ReportFormat = Literal["html", "md", "comment", "junit", "sarif", "json", "csv", "parquet", "svg"]


@dataclass(frozen=True)
class Kind:
    """A kind of result; each has JSON, and those with a document the formats of documents.

    `rows` is its class in `reports/rows/`, `words` what its report is of. `writers` are functions
    in `reports/output/`, and come before the document. `option` writes the JSON that is read again;
    "" where it is not read.
    """

    name: str
    rows: str
    words: str
    writers: Mapping[ReportFormat, str] = field(default_factory=dict)
    has_document: bool = True
    option: str = "--report json:"

    @property
    def formats(self) -> tuple[ReportFormat, ...]:
        """The formats that a result of this kind can be written in."""
        own = {*self.writers, "json", *(("html", "md", "comment") if self.has_document else ())}
        return tuple(each for each in get_args(ReportFormat) if each in own)

    @property
    def root(self) -> type[Row]:
        """The class of its rows."""
        root: type[Row] = _named("reports.rows", self.rows)
        return root

    def writer(self, format_: ReportFormat) -> Callable[..., str | bytes]:
        """Return the function that writes a format, one of `writers`."""
        writer: Callable[..., str | bytes] = _named("reports.output", self.writers[format_])
        return writer


def _named(package: str, name: str) -> Any:
    module, _, member = name.partition(".")
    return getattr(import_module(f"{package}.{module}"), member)


_TABLES: dict[ReportFormat, str] = {"csv": "tables.render_csv", "parquet": "tables.render_parquet"}
_OF_SUITES = "--constparity-report json:"
KINDS = (
    Kind("campaign", "campaign.Campaign", "one campaign", {
        "html": "html_page.render", "junit": "junit_file.render", "sarif": "sarif_file.render",
        **_TABLES}),
    Kind("grid", "grid.Grid", "a grid over versions of JAX", {
        "junit": "junit_file.render_grid", **_TABLES}),
    Kind("suite", "suite.SuiteResult", "a test-suite", {
        "junit": "suite.render_junit", "sarif": "suite.render_sarif"}, option=_OF_SUITES),
    Kind("suite-runs", "suite_runs.SuiteRuns", "a test-suite on stock JAX", {
        "junit": "suite_runs.render_junit", "sarif": "suite_runs.render_sarif"}, option=_OF_SUITES),
    Kind("proofs", "proofs.Proofs", "proofs", {
        "junit": "proofs.render_junit", "sarif": "proofs.render_sarif", **_TABLES}),
    Kind("sites", "sites.Sites", "captured arrays of a command", {
        "sarif": "sites.render_sarif"}, option=""),
    Kind("bisection", "bisection.Bisection", "a bisection", {
        "sarif": "sites.render_bisection"}, option=""),
    Kind("scorecard", "scorecard.Scorecard", "the scorecard of the flip", option=""),
    Kind("planned campaign", "plan.PlanReport", "a planned campaign", option=""),
    Kind("bench", "bench.Bench", "a benchmark", {"svg": "bench_plot.render"}, option=""),
    Kind("tuning", "experiments.Tuning", "a search for a constant policy", {
        "svg": "tuning_plot.render"}, has_document=False, option=""),
    Kind("sweep", "experiments.Sweep", "a sweep", has_document=False, option=""),
    Kind("comparison", "history.RunComparison", "two runs compared", has_document=False, option=""),
)  # fmt: skip
KINDS_READ = tuple(each for each in KINDS if each.option)


def kind_named(name: str) -> Kind:
    """Return the kind of a name. Raises `KeyError`."""
    return {each.name: each for each in KINDS}[name]


def kind_of(result: Row) -> Kind:
    """Return the kind of a result; one that is not in `KINDS` has JSON alone."""
    root = type(result)
    rows = f"{root.__module__.removeprefix('reports.rows.')}.{root.__name__}"
    alone = Kind(rows, rows, rows, has_document=False, option="")
    return next((each for each in KINDS if each.rows == rows), alone)


def kind_of_data(data: Mapping[str, Any]) -> Kind | None:
    """Return the kind of the JSON of a result, damaged or of another version as it may be.

    Without the field `kind`, it is the one that has the most of its fields.
    """
    if "kind" in data:
        return next((each for each in KINDS if each.name == data["kind"]), None)

    def shared(kind: Kind) -> int:
        return len(data.keys() & {*kind.root.model_fields, *kind.root.model_computed_fields})

    best = max(KINDS, key=shared)
    return best if shared(best) > 1 else None  # all have a schema_version


def formats_of(kind: str) -> tuple[ReportFormat, ...]:
    """Return the formats that results of a kind can be written in.

    Example::

        >>> formats_of("suite")
        ('html', 'md', 'comment', 'junit', 'sarif', 'json')
    """
    return kind_named(kind).formats
