"""Candidates, questions and splits of ReQA."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contexture.tasks.retrieval.reqa import ReqaPassage, ReqaQuestion, reqa_counts, reqa_tables, split_questions
from tests.tasks.retrieval.gold import gold_tuples

SEA = "The sea is deep. Ships cross it. The sea is deep. Few sink."
SKY = "The sky is high.  Birds cross it."


def passage(text: str, *questions: tuple[str, list[int]], title: str = "") -> ReqaPassage:
    return ReqaPassage(title, text, tuple(ReqaQuestion(question, tuple(starts)) for question, starts in questions))


def test_each_sentence_of_each_passage_is_a_candidate_once():
    questions, candidates = reqa_tables(
        [passage(SEA, ("How deep?", [11]), title="Sea"), passage(SKY), passage(SEA, ("Who sinks?", [SEA.index("Few")]))]
    )
    assert candidates.columns.tolist() == ["candidate_id", "passage_id", "title", "sentence", "passage"]
    assert candidates[["sentence", "title"]].to_numpy().tolist() == [
        *[[sentence, "Sea"] for sentence in ("The sea is deep.", "Ships cross it.", "Few sink.")],
        *[[sentence, ""] for sentence in ("The sky is high.", "Birds cross it.")],
    ]
    assert candidates["candidate_id"].is_unique and candidates["passage_id"].nunique() == 2
    gold = gold_tuples(questions, candidates)
    assert gold[["question", "sentence", "passage"]].to_numpy().tolist() == [
        ["How deep?", "The sea is deep.", SEA],
        ["Who sinks?", "Few sink.", SEA],
    ]


def test_repeated_questions_are_merged_with_all_answers():
    questions, candidates = reqa_tables(
        [
            passage(SEA, ("What is high or deep?", [0, 11, 34]), ("What crosses?", [SEA.index("Ships")])),
            passage(SKY, ("What is high or deep?", [4]), ("Unanswered?", [])),
            passage(SKY, ("What is high or deep?", [4])),
        ]
    )
    assert questions["question"].tolist() == ["What is high or deep?", "What crosses?"]
    text = candidates.set_index("candidate_id")["sentence"]
    assert [text[answer] for answer in questions["answers"][0]] == ["The sea is deep.", "The sky is high."]
    counts = {"queries": 2, "candidates": 5, "tuples": 4, "passages": 2, "query_words": 3.5}
    document_words = pytest.approx((3 * 13 + 4 + 3 + 2 + 2 * 7 + 4 + 3) / 5)
    assert reqa_counts(questions, candidates) == counts | {"document_words": document_words}


def test_an_answer_belongs_to_the_sentence_it_starts_in():
    starts = {0: 0, 15: 0, 16: 1, 17: 1, 18: 1, len(SKY) - 1: 1, len(SKY): 1}
    for start, sentence in starts.items():
        questions, candidates = reqa_tables([passage(SKY, ("q", [start]))])
        assert questions["answers"][0] == [candidates["candidate_id"][sentence]]


def test_ids_depend_on_the_texts_alone():
    first = reqa_tables([passage(SEA, ("How deep?", [0]))])
    second = reqa_tables([passage(SKY, ("How high?", [0])), passage(SEA, ("How deep?", [0]), title="Other")])
    for small, large, key in zip(first, second, ("question_id", "candidate_id"), strict=True):
        assert set(small[key]) < set(large[key])


def test_no_candidates_and_no_questions_raise():
    with pytest.raises(ValueError, match="no candidates to retrieve"):
        reqa_tables([passage("  ", ("q", [0]))])
    with pytest.raises(ValueError, match="no question has an answer"):
        reqa_tables([passage(SEA, ("q", []))])


IDS = [f"{number:016x}" for number in range(2400)]
NAMES = ("train", "dev", "test")


def test_splits_have_the_sizes_of_the_paper_and_are_nested():
    parts = {}
    for share, sizes in {0.01: [21, 3, 2376], 0.05: [108, 12, 2280], 0.8: [1728, 192, 480]}.items():
        split = split_questions(IDS, share, seed=3)
        assert split.index.tolist() == IDS and split.name == "split" and split.index.name == "question_id"
        parts[share] = {name: set(split.index[split == name]) for name in NAMES}
        assert [len(parts[share][name]) for name in NAMES] == sizes
    for name in ("train", "dev"):
        assert parts[0.01][name] < parts[0.05][name] < parts[0.8][name]
    assert parts[0.8]["test"] < parts[0.05]["test"] < parts[0.01]["test"]


def test_splits_depend_on_seed_and_ids_but_not_on_order():
    split = split_questions(IDS, 0.05, seed=3)
    assert split_questions(IDS[::-1], 0.05, seed=3)[IDS].equals(split)
    assert not split_questions(IDS, 0.05, seed=4).equals(split)


@given(st.integers(2, 60), st.floats(0.001, 0.999), st.integers(0, 9))
def test_no_split_is_without_training_or_test(count: int, share: float, seed: int):
    counts = split_questions(IDS[:count], share, seed).value_counts().to_dict()
    assert counts["train"] >= 1 and counts["test"] >= 1
    trained = counts["train"] + counts.get("dev", 0)
    assert trained < 2 or 1 <= counts["dev"] <= trained / 10 + 1


@pytest.mark.parametrize(
    ("ids", "share", "message"),
    [("ab", 0.0, "share is 0"), ("ab", 1.0, "share is 1"), ("a", 0.5, "1 questions"), ("aa", 0.5, "twice")],
)
def test_impossible_splits_raise(ids: str, share: float, message: str):
    with pytest.raises(ValueError, match=message):
        split_questions([*ids], share, seed=0)
