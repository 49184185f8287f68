"""What a retrieval task asks for."""

import pandas as pd


def gold_tuples(questions: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """One row for each question and each of its right candidates, with the columns of both."""
    asked = questions[["question_id", "question", "answers"]].explode("answers")
    asked = asked.rename(columns={"answers": "candidate_id"})
    return asked.merge(candidates, on="candidate_id", how="left", validate="many_to_one")
