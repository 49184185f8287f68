"""Claims of all splits as one table."""

import json
from pathlib import Path

import pytest

from contexture.tasks.fact_verification.config import VerificationConfig
from contexture.tasks.fact_verification.files import Claim, Evidence, read_claims
from contexture.tasks.fact_verification.splits import PLACEHOLDER, build_claim_set, list_labels
from contexture.tasks.missing import BenchmarkMissing

S, R, N = "SUPPORTS", "REFUTES", "NOT ENOUGH INFO"


def make_evidence(*sentences: str) -> tuple[Evidence, ...]:
    return tuple(Evidence("Page (x)", number, text) for number, text in enumerate(sentences))


TRAIN = [
    Claim("1", "a b", S, make_evidence("one", "", "two", "three")),
    Claim("2", "c", R, ()),
    Claim("3", "d", N, make_evidence("")),
]


def test_evidence_is_cut_or_replaced_by_a_placeholder(caplog: pytest.LogCaptureFixture) -> None:
    splits = {"train": TRAIN, "dev": [Claim("4", "e", S, make_evidence("four"))]}
    result = build_claim_set(splits, VerificationConfig(evidence=2))
    assert result.rows["split"].tolist() == ["train"] * 3 + ["dev"]
    assert result.rows["evidence"].tolist() == [["one", "two"], [PLACEHOLDER], [PLACEHOLDER], ["four"]]
    assert result.rows["pages"].tolist() == [["Page (x)"] * 2, [""], [""], ["Page (x)"]]
    assert result.counts == {
        "train": {
            "claims": 3, S: 1, R: 1, N: 1, "evidence_sentences": 2, "without_evidence": {R: 1, N: 1},
            "evidence_cut": 1, "evidence_empty": 2, "repeated_in_it": 0, "also_in_a_later_split": 0,
        },
        "dev": {"claims": 1, S: 1, "evidence_sentences": 1, "repeated_in_it": 0, "also_in_a_later_split": 0},
    }  # fmt: skip
    assert "2 claims of train have no evidence, replaced by 'none': REFUTES 1, NOT ENOUGH INFO 1." in caplog.text
    titled = build_claim_set(splits, VerificationConfig(evidence=2, titles=True)).rows["evidence"]
    assert titled.tolist() == [["Page (x). one", "Page (x). two"], [PLACEHOLDER], [PLACEHOLDER], ["Page (x). four"]]


def test_repeated_claims_are_removed_from_earlier_splits() -> None:
    again = Claim("5", "A b", R, ())
    splits = {
        "train": [*TRAIN, Claim("6", "C", S, ()), Claim("7", "f", S, ())],
        "dev": [again, again, Claim("8", "F", S, ())],
        "test": [Claim("9", "f", R, ())],
    }
    result = build_claim_set(splits, VerificationConfig())
    assert result.rows["claim_id"].tolist() == ["2", "3", "6", "5", "5", "9"]
    counts = {
        split: (result.counts[split]["repeated_in_it"], result.counts[split]["also_in_a_later_split"])
        for split in ("train", "dev", "test")
    }
    assert counts == {"train": (1, 2), "dev": (1, 1), "test": (0, 0)}
    # Evidence is counted after claim 1, with two sentences to cut, is removed.
    cut = build_claim_set(splits, VerificationConfig(evidence=1)).counts["train"]
    assert "evidence_cut" not in cut and cut["evidence_empty"] == 1


def test_tasks_of_two_labels_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    result = build_claim_set({"train": TRAIN[:2], "dev": [Claim("4", "e", R, ())]}, VerificationConfig())
    assert result.counts["labels"] == "SUPPORTS and REFUTES only" and list_labels(result.rows) == [S, R]
    assert "claims have 2 labels: SUPPORTS and REFUTES only" in caplog.text


def test_evidence_sentences_are_looked_up(tmp_path: Path) -> None:
    named = (Evidence("A_-LRB-b-RRB-", 0, None), Evidence("A_-LRB-b-RRB-", 7, None), Evidence("A_-LRB-b-RRB-", 1, None))
    splits = {"train": [Claim("1", "a", S, named), TRAIN[1]], "dev": [Claim("2", "b", S, named[:1])]}
    lines = "0\tIt is -LRB- so -RRB- .\n1\t"
    (tmp_path / "wiki-001.jsonl").write_text(json.dumps({"id": "A_-LRB-b-RRB-", "lines": lines}))
    result = build_claim_set(splits, VerificationConfig(wiki_pages=str(tmp_path), titles=True))
    assert result.rows["evidence"].tolist() == [["A (b). It is ( so ) ."], [PLACEHOLDER], ["A (b). It is ( so ) ."]]
    assert (result.counts["train"]["evidence_not_found"], result.counts["train"]["evidence_empty"]) == (1, 1)
    with pytest.raises(BenchmarkMissing, match=r"text of 3 sentences of evidence .* Set fact_verification\.wiki_pages"):
        build_claim_set(splits, VerificationConfig())


def test_unusable_labels_raise() -> None:
    with pytest.raises(ValueError, match="all train claims are SUPPORTS; at least two labels are needed"):
        build_claim_set({"train": TRAIN[:1], "dev": [Claim("4", "e", S, ())]}, VerificationConfig())
    with pytest.raises(ValueError, match="dev has the labels NOT ENOUGH INFO, train only SUPPORTS, REFUTES;"):
        build_claim_set({"train": TRAIN[:2], "dev": [Claim("4", "e", N, ())]}, VerificationConfig())
    with pytest.raises(ValueError, match="a later split contains all claims of train"):
        build_claim_set({"train": TRAIN, "dev": TRAIN}, VerificationConfig())


def test_real_files(shared_data: Path) -> None:
    """FEVER's claims of two labels; some have more than five sentences."""
    folder = shared_data / "fact_verification" / "fever" / "athnlp_with_evidence"
    splits = {"train": read_claims(folder / "test.jsonl")[0], "dev": read_claims(folder / "validation.jsonl")[0]}
    result = build_claim_set(splits, VerificationConfig())
    assert result.counts["dev"]["claims"] == 6_666 and result.counts["dev"][S] == 3_333
    train = result.counts["train"]
    assert train["claims"] + train["also_in_a_later_split"] == 6_666 and train["evidence_cut"] > 0
    assert "without_evidence" not in train and result.counts["labels"]
