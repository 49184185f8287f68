"""The page of the league."""

from contexture.reporting.league import NOTE, TITLE
from contexture.reporting.league import league_page as page

__all__ = ["NOTE", "TITLE", "page"]
