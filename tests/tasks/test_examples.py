"""Selection of example questions."""

from contexture.tasks.examples import select_examples


def describe_example(number: int) -> dict[str, str]:
    return {"question": f"q{number}"}


def test_examples_of_both_kinds_are_spread() -> None:
    right = [number % 2 == 0 for number in range(20)]
    examples = select_examples("ict", "frozen", right, describe_example)
    assert [row["question"] for row in examples["answered"]] == ["q0", "q8", "q18"]
    assert [row["question"] for row in examples["missed"]] == ["q1", "q9", "q19"]
    assert (examples["variant"], examples["protocol"]) == ("ict", "frozen")


def test_few_questions_are_all_selected() -> None:
    examples = select_examples("ict", "frozen", [True, True], describe_example)
    assert [row["question"] for row in examples["answered"]] == ["q0", "q1"] and examples["missed"] == []
    assert select_examples("ict", "frozen", [], describe_example)["answered"] == []
