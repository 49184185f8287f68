"""From HotpotQA's files to questions, answers, facts, sentences and reader inputs."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contexture.encoders.base import Encoder
from contexture.encoders.files import load_encoder
from contexture.tasks.multi_hop.config import MultiHopConfig
from contexture.tasks.multi_hop.data import Paragraphs, read_paragraphs, read_questions
from contexture.tasks.multi_hop.inputs import IGNORED_LABEL, AnswerSpan, ReaderInputs, build_labels
from contexture.tasks.multi_hop.task import MultiHopTask
from tests.tasks.multi_hop import toys
from tests.tasks.ranking.test_files import HOTPOT

TASK = MultiHopTask()
PARAGRAPHS = Paragraphs(
    ["A", "B"],
    ["", ""],
    [["Kana was Love .", "", "one love , MIPO dive"], ["he was lover of love", "dipo"]],
)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    folder = tmp_path_factory.mktemp("encoder")
    return load_encoder(toys.new_encoder(folder / "encoder", toys.vocabulary(folder / "words"), toys.TRANSFORMER))


def test_answers_facts_and_sentences(tmp_path: Path) -> None:
    """Sentences keep their numbers, also after an empty one."""
    rows = [HOTPOT | {"context": [*HOTPOT["context"], ["Dee", ["Dee  is.", " ", " Ann knew her."]]]}]
    (tmp_path / "dev.json").write_text(json.dumps(rows), encoding="utf-8")
    TASK.prepare_data(MultiHopConfig({"test": str(tmp_path / "dev.json")}), tmp_path, tmp_path / "read")
    folder = tmp_path / "read/hotpotqa"
    questions, paragraphs = read_questions(folder, "test"), read_paragraphs(folder)
    assert (questions.ranked.ids, questions.answers) == (["h1"], ["Ann"])
    assert questions.facts == [{("Ann", 0), ("Bob", 0), ("Ann", 1)}]
    assert [paragraphs.titles[row] for row in questions.ranked.right[0]] == ["Ann", "Bob"]
    assert paragraphs.titles == ["Cy", "Ann", "Bob", "Dee"]
    assert paragraphs.sentences[3] == ["Dee is.", "", "Ann knew her."]
    documents = TASK.load_documents(tmp_path / "read")
    assert documents is not None and set(documents["title"]) >= {"Ann", "Bob"}
    with pytest.raises(ValueError, match="no train question with a right and a wrong paragraph"):
        TASK.check_settings(toys.settings(), tmp_path / "read")


def test_missing_files_are_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        report = toys.read(tmp_path / "none", None)
    assert "multi_hop.input names no files" in report["missing"]["multi_hop"] and "names no files" in caplog.text
    TASK.prepare_data(MultiHopConfig(str(tmp_path / "gone.json")), tmp_path, tmp_path / "gone")
    assert "HotpotQA is not here" in (tmp_path / "gone/task.json").read_text()
    for name in ("none", "gone"):
        TASK.check_settings(toys.settings(), tmp_path / name)
        assert TASK.load_documents(tmp_path / name) is None
        assert TASK.evaluate(toys.settings(), [], tmp_path / name, tmp_path / "v").records == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": None}, "question h1: no answer"),
        ({"answer": " "}, "question h1: no answer"),
        ({"supporting_facts": [["Ann", "0"]]}, "question h1: a supporting fact must be a title and a sentence number"),
    ],
)
def test_errors_name_the_faulty_question(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        toys.read(tmp_path / "read", [HOTPOT | change])


def test_sentences_are_marked_and_cut_to_the_room(encoder: Encoder) -> None:
    inputs = ReaderInputs(PARAGRAPHS, [[0, 1]], encoder, 24)
    long, short = (
        inputs.build_input("town kana ?", [1, 0]),
        ReaderInputs(PARAGRAPHS, [[0]], encoder, 13).build_input("town", [0]),
    )
    assert long.sentences[:2] == [(1, 0), (1, 1)] and (0, 1) not in long.sentences
    assert [len(ids) for ids in short.tokens] == [1, 4, 2] and short.sentences == [(0, 0), (0, 2)]
    batch = inputs.batch([long, short])
    ids, slots = batch["input_ids"].numpy(), batch["slots"].numpy()
    assert ids.shape[1] <= 24 and batch["token_type_ids"].max() == 1
    for line, example in enumerate((long, short)):
        for slot, (start, tokens) in enumerate(zip(example.starts, example.tokens, strict=True)):
            columns = slice(start, start + len(tokens))
            assert ids[line, columns].tolist() == tokens.tolist()
            assert ids[line, start - 1] == encoder.specials.cls
            assert set(slots[line, columns]) == {slot}
            assert batch["pooling"][line, slot].sum() == pytest.approx(1)
        assert np.flatnonzero(batch["present"][line]).tolist() == list(range(1, len(example.tokens)))
        assert (slots[line] > 0).sum() == sum(map(len, example.tokens[1:]))


def test_answers_are_found_in_facts_first_as_words(encoder: Encoder) -> None:
    inputs = ReaderInputs(PARAGRAPHS, [[0, 1]], encoder, 48)
    assert inputs.find_span("love", [0, 1], set()) == AnswerSpan(0, 0, 2, 2)
    in_fact = inputs.find_span("LOVE", [0, 1], {("B", 0)})
    assert in_fact is not None and (in_fact.row, inputs.span_text(in_fact)) == (1, "love")
    assert in_fact.first > 3  # not that of "lover"
    several = inputs.find_span("love , mipo", [0, 1], set())
    assert several is not None and inputs.span_text(several) == "love , MIPO"
    assert inputs.find_span("runa", [0, 1], set()) is None and inputs.find_span("lov", [0, 1], set()) is None
    example = inputs.build_input("town", [0, 1])
    start = example.starts[example.sentences.index((0, 2)) + 1]
    assert build_labels(example, "love , mipo", several, {("A", 2), ("B", 1)}, PARAGRAPHS.titles) == {
        "kind": 0,
        "first": start + several.first,
        "last": start + several.last,
        "support": [0, *(float(sentence in {(0, 2), (1, 1)}) for sentence in example.sentences)],
    }
    for answer, kind in (("Yes", 1), ("no", 2), ("runa", 0)):
        assert build_labels(example, answer, None, set(), PARAGRAPHS.titles)["kind"] == kind
    assert build_labels(example, "yes", several, set(), PARAGRAPHS.titles)["first"] == IGNORED_LABEL


def test_the_real_slice(shared_data: Path, tmp_path: Path, encoder: Encoder) -> None:
    """100 published questions: answers are in the gold paragraphs, which have all facts."""
    file = shared_data / "question_answering/hotpotqa_slice/hotpot_dev_distractor_v1.json"
    TASK.prepare_data(MultiHopConfig(str(file)), tmp_path, tmp_path / "read")
    folder = tmp_path / "read/hotpotqa"
    TASK.check_settings(toys.settings(), tmp_path / "read")
    paragraphs = read_paragraphs(folder)
    parts = [read_questions(folder, split) for split in ("train", "dev", "test")]
    assert sum(map(len, parts)) == 100 and len(paragraphs.titles) > 900
    spans = yes_no = 0
    for part in parts:
        gold = [[int(row) for row in right] for right in part.ranked.right]
        inputs = ReaderInputs(paragraphs, gold, encoder, 512)
        for answer, rows, facts in zip(part.answers, gold, part.facts, strict=True):
            assert len(rows) == 2 and {title for title, _ in facts} == {paragraphs.titles[row] for row in rows}
            yes_no += answer in ("yes", "no")
            span = inputs.find_span(answer, rows, facts)
            spans += span is not None
            assert span is None or inputs.span_text(span).lower() == answer.lower()
    assert yes_no > 0 and spans + yes_no >= 98
