"""Answer sentence selection: choose the sentence that answers (WikiQA's format)."""
