"""Answer ranking: which of many candidates answers the question, told from sentence vectors alone."""
