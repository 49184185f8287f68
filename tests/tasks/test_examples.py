"""Questions to read, chosen from all over those that were answered and those that were not."""

from contexture.tasks.examples import to_read


def row(place: int) -> dict[str, str]:
    return {"question": f"q{place}"}


def test_some_of_either_kind_are_shown() -> None:
    right = [place % 2 == 0 for place in range(20)]
    shown = to_read("ict", "frozen", right, row)
    assert [one["question"] for one in shown["answered"]] == ["q0", "q8", "q18"]
    assert [one["question"] for one in shown["missed"]] == ["q1", "q9", "q19"]
    assert (shown["variant"], shown["protocol"]) == ("ict", "frozen")


def test_few_questions_are_all_shown() -> None:
    shown = to_read("ict", "frozen", [True, True], row)
    assert [one["question"] for one in shown["answered"]] == ["q0", "q1"] and shown["missed"] == []
    assert to_read("ict", "frozen", [], row)["answered"] == []
