"""Answer ranking: rank many candidates of a question by sentence vectors."""
