"""The page above all reports: what came out, in a sentence or two for each, and where to read on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from contexture.reporting.page import Page
from contexture.reporting.report import render

#: Beside a system's page, what the index says of it.
SUMMARY = "summary.json"
#: Findings that it takes over.
FEW = 3
#: What the reports take for known.
GLOSSARY = {
    "frozen": "the encoder is used as pre-training left it; only a classifier on top, if any, learns",
    "untrained, no pre-training": "the same network of the same size with the weights that it starts from: what "
    "training adds is what counts",
    "seed": "the number that random choices follow from; trained with several, results tell chance from difference",
    "static": "a text's vector is the weighted mean of its words' vectors; no layer on top",
    "idf": "a word's weight: the rarer its documents, the heavier",
    "BM25": "search by the words that question and passage share",
    "with BM25": "two rankings fused, by the rank that a passage has in each",
    "in-batch softmax": "a text learns to pick its partner among those of all others in the batch, as in ICT",
    "ICT, BFS, WLP": "two-tower pairs: a sentence and the passage around it; a sentence of a page's beginning and "
    "another passage of the page; the same with a passage of a page that links to it",
    "R@10": "percent of the questions whose passage is among the first ten found",
    "SimCSE": "a sentence is encoded twice, with other dropout each time; the two are told from all others",
    "joint": "one Transformer reads a question and several candidates in one input, and judges them together",
    "MSPP": "which of several sentences stands in the same paragraph: the pre-training of the joint Transformers",
    "IE_k, AE_k": "heads of the joint Transformers: a candidate is scored by its own vector, or by the average of all",
    "MAP, MRR, P@1": "right answers high up in the order of the candidates: mean average precision, mean of one over "
    "the first right rank, percent of the questions with a right one at the top",
    "uni, bi, combine": "Quick-Thoughts' encoders: one direction, both, and two encoders side by side",
    "MC": "combine, with word vectors that are given beside trained ones",
    "BoW": "bag of words: the order of the words is not read; untrained BoW-QT: of random word vectors",
    "MLM": "masked language modelling: guess the words that were hidden",
    "probe": "a linear classifier on frozen vectors",
    "skip-thoughts probe, SentEval's protocol": "two ways to train and to cross-validate a probe: as the skip-thoughts "
    "paper does, whose numbers ours stand beside, and as SentEval does",
    "Spearman": "how well the order by cosine agrees with people's order of similarity, ×100",
    "(t(2) = …, p = …)": "a paired t-test over the seeds",
}


@dataclass(frozen=True)
class Summary:
    """What the index says of a system's page."""

    title: str
    verdict: list[str]
    text: str  # what was trained on
    made: str  # when, to the minute


def summarize(title: str, page: Page, text: str, made: str) -> Summary:
    """The first things that a page says: the verdicts of its cards, or its first findings."""
    heads = [f"{card.title}: {sentence}" for card in page.cards for sentence in card.sentences[:1]]
    return Summary(title, heads or list(page.findings[:FEW]), text, made)


def read_summaries(reports: Path) -> dict[str, Summary]:
    """System → what its page, under `reports`, begins with."""
    files = sorted(reports.glob(f"*/report/{SUMMARY}"))
    return {file.parts[-3]: Summary(**json.loads(file.read_text(encoding="utf-8"))) for file in files}


def summary_json(summary: Summary) -> str:
    """A summary as `read_summaries` reads it."""
    return json.dumps(asdict(summary), ensure_ascii=False, indent=1)


def render_index(summaries: Mapping[str, Summary], run: Mapping[str, str], link: str) -> str:
    """The page; `run` tells about the last run, by what it is called, and `link` leads to it while MLflow's UI runs."""
    return render("index.html", {"summaries": summaries, "run": run, "link": link, "glossary": GLOSSARY})
