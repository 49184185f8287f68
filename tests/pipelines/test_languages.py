"""The made-up world in several languages, from `--env multilingual` to the corpus, parallel sentences and a task."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from contexture.demo.languages import make_translator
from contexture.demo.novels import iter_sentences, make_novel
from contexture.vocabulary.vocabulary import Vocabulary
from tests.pipelines.conftest import SMALLEST, read, run

pytestmark = pytest.mark.slow

LANGUAGES = ["en", "qaa", "qab", "qac"]
SEED = 7


def params() -> dict[str, Any]:
    """Return parameters of a small MSPP with a run that reads parallel sentences."""
    mspp = SMALLEST["mspp"]
    runs = mspp["pretrain"]["runs"] | {"br": {"schedule": [{"steps": 3, "weights": {"bitext": 1}}]}}
    more = {"streams": mspp["streams"] | {"bitext": {}}, "pretrain": mspp["pretrain"] | {"runs": runs}}
    more["tasks"] = mspp["tasks"] | {"bitext_retrieval": {}}
    return {key: SMALLEST[key] for key in ("demo", "corpus", "compute")} | {"mspp": mspp | more}


def test_all_sentences_of_all_languages_reach_the_corpus(make_project: Any) -> None:
    project: Path = make_project()
    run(project, params(), env="multilingual", pipeline_names=["corpus"])
    table = pd.read_parquet(project / "data/03_primary/paragraphs")
    assert sorted(path.name for path in (project / "data/03_primary/paragraphs").glob("lang=*")) == [
        f"lang={lang}" for lang in LANGUAGES
    ]
    assert (table["doc_id"].str.split(":").str[0] == table["lang"].astype(str)).all()
    dropped = read(project, "08_reporting/corpus/cleaning.json")["languages"]
    assert dropped.keys() == set(LANGUAGES) and not any(language["dropped"] for language in dropped.values())
    for lang, part in table.groupby("lang", observed=True):
        series = () if lang == "en" else (str(lang),)
        translate = make_translator(SEED, *series) if series else str
        written = [
            translate(sentence) for index in range(2) for sentence in iter_sentences(make_novel(SEED, index, *series))
        ]
        assert part["doc_id"].nunique() == 2
        assert sorted(part["sentences"].explode()) == sorted(written)
    vocabulary = Vocabulary.load(project / "data/04_feature/tokenizer")
    assert vocabulary.tokens.vocab_size <= 8000
    pieces = [vocabulary.tokenizer.encode(text).tokens for text in table["text"]]
    assert not any("[UNK]" in tokens for tokens in pieces)


def test_parallel_sentences_and_the_task(make_project: Any) -> None:
    project: Path = make_project()
    stages = ["sources", "corpus", "vocabulary", "tasks", "examples"]
    run(project, params(), env="multilingual", tags=stages)
    counts = read(project, "08_reporting/corpus/bitext.json")
    assert {name: (count["pairs_in"], count["pairs_out"]) for name, count in counts.items()} == {
        f"demo_{lang}": (1000, 1000) for lang in LANGUAGES[1:]
    }
    assert not any(count["same_language"] for count in counts.values())
    languages = read(project, "08_reporting/mspp/examples-bitext.json")["languages"]
    assert languages.keys() == {f"en-{lang}" for lang in LANGUAGES[1:]} and min(languages.values()) > 950
    report = read(project, "03_primary/tasks/bitext_retrieval/task.json")
    assert report["counts"] == {"demo": {f"{lang}-eng": 300 for lang in LANGUAGES[1:]}} and not report["missing"]
