"""How the examples of the two-tower system are drawn."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from contexture.strict import STRICT

#: Inverse Cloze Task, Body First Selection and Wiki Link Prediction (section 3).
Task = Literal["ict", "bfs", "wlp"]


@dataclass(config=STRICT, frozen=True)
class TwoTowerSampling:
    """How passages are packed and pairs drawn; the defaults are the paper's (sections 3 and 4.1)."""

    # tokens of a document at most, [CLS] title [SEP] passage [SEP]: passages are packed to fill them
    document_tokens: Annotated[int, Field(gt=3)] = 288
    # tokens of a query at most, [CLS] query [SEP]; longer ones are cut
    query_tokens: Annotated[int, Field(gt=2)] = 64
    # ICT and BFS: different queries drawn for each passage, a pair each; more of them stretch a small corpus
    pairs_per_passage: Annotated[int, Field(gt=0)] = 1
    # ICT: how often the query's sentence is taken out of the passage (1: paper; 0.9: ORQA, that words may match too)
    remove_probability: Annotated[float, Field(ge=0, le=1)] = 1.0
    # files, hence partitions, of each table
    files: Annotated[int, Field(gt=0)] = 16

    def passage_tokens(self, title_tokens: int) -> int:
        """Tokens that a title of `title_tokens` leaves to the passage beside the three special tokens; 1 at least."""
        return max(1, self.document_tokens - 3 - title_tokens)
