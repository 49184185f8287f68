"""Answer sentence selection: rank the candidate sentences of a question."""
