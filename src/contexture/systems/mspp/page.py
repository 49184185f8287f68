"""The page of MSPP."""

from collections.abc import Sequence

from contexture.reporting.page import Page, ReportContext, Section
from contexture.reporting.records import Record
from contexture.reporting.tables import compare, comparison_table, results_table
from contexture.systems.mspp.published import COMPARISONS, TABLES


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's tables and the gains in MAP over the same models without MSPP."""
    comparisons = [compare(records, table, COMPARISONS, "map") for table in TABLES]
    tables = [results_table(records, table) for table in TABLES]
    if any(comparisons):
        tables.append(comparison_table([gain for gains in comparisons for gain in gains]))
    return Page([gain.sentence for gain in comparisons[0]], [Section(table.title, table) for table in tables])
