"""`kedro run --env adapt` on a folder of Markdown: index, exported encoder and report."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from contexture.encoders.models import load_model
from contexture.retrieval.passage_search import PassageSearch
from contexture.systems.adapt.page import NOT_TRAINED
from tests.pipelines.conftest import read, records, run

TOPICS = ("tide", "mill", "ferry", "bell", "orchard", "quarry", "lantern", "harvest")
VERBS = ("keeps", "mends", "counts", "paints", "sells", "hides", "weighs", "follows", "names", "borrows")
THINGS = ("ropes", "stones", "letters", "barrels", "wheels", "apples", "maps", "candles", "baskets", "boats", "bricks")


def write_pages(folder: Path) -> None:
    """Write forty English pages about eight topics, with headings, and links to the next page of the topic."""
    rng = random.Random(0)
    folder.mkdir()
    for number in range(40):
        topic = TOPICS[number % len(TOPICS)]
        lead = f"This is what they know of the {topic} that stands in the village with the number {number}."
        lines = [f"# The {topic} of village {number}", "", lead, ""]
        for section in ("In the morning", "In the evening", "At night"):
            said = [
                f"The keeper of the {topic} {rng.choice(VERBS)} the {rng.choice(THINGS)} and {rng.choice(VERBS)} "
                f"{number + 2} {rng.choice(THINGS)} which were left behind by those who had come from the "
                f"{rng.choice(TOPICS)}."
                for _ in range(6)
            ]
            beyond = (
                f"There is also [a {topic}](page-{(number + 8) % 40}.md) that they know from the village beyond it."
            )
            lines += [f"## {section}", "", " ".join(said[:3]), "", " ".join([*said[3:], beyond]), ""]
        (folder / f"page-{number}.md").write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.slow
def test_single_sentences_are_searched_without_training(make_project: Callable[[], Path], tmp_path: Path) -> None:
    """A sentence for each document gives questions (halves), but no pairs."""
    rng = random.Random(0)
    texts = [
        f"They know that the {rng.choice(TOPICS)} of the village {rng.choice(VERBS)} the {rng.choice(THINGS)} and "
        f"{rng.choice(VERBS)} {number} {rng.choice(THINGS)} which were left by the {rng.choice(TOPICS)}."
        for number in range(150)
    ]
    text = tmp_path / "lines.jsonl"
    text.write_text("\n".join(json.dumps({"id": str(n), "text": line}) for n, line in enumerate(texts)))
    params = {
        "corpus": {"input": str(text), "lang": "en"},
        "cleaning": {"duplicate_documents": None, "duplicate_paragraphs": None},
    }
    project = make_project()
    run(project, params, env="adapt", pipeline_names=["adapt"])
    assert set(records(project, "adapt")["variant"]) == {"bm25", "static_none", "static_none+bm25"}
    assert read(project, "07_model_output/adapt/held_out/details.json")["asked"]["halves"] >= 10
    report = (project / "data/08_reporting/adapt/report/report.md").read_text(encoding="utf-8")
    assert NOT_TRAINED in report and "**Pre-training**: none" in report
    assert "adapt/static_none" in (project / "data/06_models/adapt/exported/README.md").read_text(encoding="utf-8")
    (hit,) = PassageSearch(project / "data/06_models/search")(texts[7], 1)
    assert hit.text == texts[7]


@pytest.mark.slow
def test_a_folder_becomes_a_search(make_project: Callable[[], Path], tmp_path: Path) -> None:
    project = make_project()
    write_pages(tmp_path / "pages")
    questions_file = tmp_path / "asked.tsv"
    questions_file.write_text(
        "".join(f"What does village {n} have?\tpage-{n}.md\n" for n in range(25)), encoding="utf-8"
    )
    params = {
        "corpus": {"input": str(tmp_path / "pages")},
        "held_out": {"input": str(questions_file)},
        # The pages have similar sentences.
        "cleaning": {"duplicate_documents": None, "duplicate_paragraphs": None, "filters": {"repetition": None}},
        "adapt": {
            "streams": {"pairs": {"sampling": {"held_out": 0.3}}},
            "pretrain": {"runs": {"static": {"schedule": [{"steps": 20, "weights": {"in_batch_negatives": 1}}]}}},
        },
    }
    run(project, params, env="adapt", pipeline_names=["adapt"])
    assert not (project / "data/01_raw/demo").exists()
    table = records(project, "adapt")
    assert set(table["variant"]) == {"bm25", "static", "static+bm25", "static_none", "static_none+bm25"}
    assert {"headings", "sentences", "questions"} <= set(table["data"])
    details = read(project, "07_model_output/adapt/held_out/details.json")
    assert (
        details["asked"]["questions"] == 25 and details["advice"]["basis"] == ["questions"] and not details["unknown"]
    )
    pairs = read(project, "08_reporting/adapt/examples-pairs.json")
    assert all(pairs[task]["pairs"] > 0 for task in ("ict", "wlp", "headings", "neighbours"))
    exported = project / "data/06_models/adapt/exported"
    assert "## Results" in (exported / "README.md").read_text(encoding="utf-8")
    texts = ["who mends the wheels", "the keeper of the tide"]
    vectors, expected = load_model(exported).embed(texts, "document"), SentenceTransformer(str(exported)).encode(texts)
    assert vectors / 4.5 == pytest.approx(expected, abs=1e-5)
    search = PassageSearch(project / "data/06_models/search")
    assert search.defaults.weight in details["weights"].values()
    assert (search.method == "bm25") == (details["advice"]["take"] == "bm25")
    hits = search("the bell of village 11", 3)
    assert any(hit.title == "The bell of village 11" for hit in hits)
    page = (project / "data/08_reporting/adapt/report/report.html").read_text(encoding="utf-8")
    assert "by your 25 questions" in page
    assert json.loads((project / "data/01_raw/sources.json").read_text())["corpus"][0]["lang"] == "en"
