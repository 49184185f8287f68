"""The page of one's own text: is it better, by how much, and what to do next."""

from collections.abc import Sequence

from contexture.reporting.default_page import every_table
from contexture.reporting.page import Page, ReportContext, sections
from contexture.reporting.records import Record
from contexture.reporting.training_tables import trainings_table

TITLE = "Your own text: what to search it with"
NOTE = "x"


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """x"""
    return Page(
        (str(context.facts["held_out"].get("advice")),),
        sections([*every_table(records, context.labels), trainings_table(context.trainings, context.labels)]),
    )
