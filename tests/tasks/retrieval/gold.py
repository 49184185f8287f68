"""The right answers of a retrieval task."""

import pandas as pd


def gold_tuples(questions: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """Return one row per question and right candidate, with the columns of both."""
    rows = questions[["question_id", "question", "answers"]].explode("answers")
    rows = rows.rename(columns={"answers": "candidate_id"})
    return rows.merge(candidates, on="candidate_id", how="left", validate="many_to_one")
