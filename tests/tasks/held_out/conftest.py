"""Shared by all tests of held-out documents."""

from collections.abc import Iterator

import pytest

from contexture.tasks.held_out import evaluation


@pytest.fixture(scope="package", autouse=True)
def two_questions_suffice() -> Iterator[None]:
    """Allow kinds with two questions, because the toys are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "MIN_QUESTIONS", 2)
        yield
