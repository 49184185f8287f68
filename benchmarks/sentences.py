"""How well, and how fast, are paragraphs split into sentences? Contexture compared with Punkt, pysbd and syntok.

    python -m venv peers && peers/bin/pip install -r benchmarks/requirements.txt nltk
    PYTHONPATH=src:. peers/bin/python benchmarks/sentences.py FOLDER

FOLDER holds `wikipedia/` with the three dumps that the marks in `tests/text/gold` are about. Takes about two
minutes. One row a splitter and language, on paragraphs of real articles:

F1           of the boundaries marked by hand, all of them; then on the half that was looked at while the rules were
             made, and on the half that was not. A splitter is asked about marked places only.
sentences/s  of one core, on paragraphs of about --characters (300,000) in all, once each; preparation is left out.

"trained" are parameters learned from the paragraphs of the same dump, not from the marks; its row adds what that took.
syntok has no Italian and no Greek: its rules for all languages are used.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pysbd
import syntok.segmenter as syntok
from nltk.tokenize.punkt import PunktSentenceTokenizer
from tests.text import gold
from tests.text.nltk_punkt import make_nltk_punkt

from contexture.text.punkt import Punkt
from contexture.text.punkt_training import train_parameters
from contexture.text.sentences import Splitter, load_parameters

Spans = Callable[[str], list[tuple[int, int]]]


def splitters(lang: str, texts: list[str]) -> Iterator[tuple[str, Spans]]:
    yield "Contexture", Splitter(load_parameters(lang)).find_spans
    start = time.process_time()
    language = train_parameters(texts, lang)
    seconds = time.process_time() - start
    characters = min(sum(map(len, texts)), 4_000_000)
    yield (
        f"Contexture, trained ({seconds / characters * 1e6:.1f} s a million characters)",
        Splitter(language).find_spans,
    )
    words = load_parameters(lang)
    parameters = words["abbreviations"], words["common_words"], words["after_numbers"], words["sentence_ends"]
    yield "Contexture, Punkt alone", Punkt(*parameters).find_spans
    same = make_nltk_punkt(*parameters)
    yield "NLTK Punkt, the same parameters", lambda text: list(same.span_tokenize(text))
    untrained = PunktSentenceTokenizer()
    yield "NLTK Punkt, untrained", lambda text: list(untrained.span_tokenize(text))
    segmenter = pysbd.Segmenter(language=lang, clean=False, char_span=True)
    yield "pysbd", lambda text: [(span.start, span.end) for span in segmenter.segment(text)]
    yield "syntok", _syntok


def _syntok(text: str) -> list[tuple[int, int]]:
    sentences = (sentence for paragraph in syntok.process(text) for sentence in paragraph)
    return [(sentence[0].offset, sentence[-1].offset + len(sentence[-1].value)) for sentence in sentences]


def speed(spans: Spans, texts: list[str]) -> float:
    """Sentences a second of processor time."""
    spans("'Dr. A. Ash.' came.")
    start = time.process_time()
    count = sum(len(spans(text)) for text in texts)
    return count / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--characters", type=int, default=300_000)
    arguments = parser.parse_args()
    print("| | splitter | F1 | seen | held out | sentences/s |\n|---|---|---|---|---|---|")
    for lang in gold.DUMPS:
        paragraphs = list(gold.read_paragraphs(arguments.folder, lang))
        texts = [text for _, text in paragraphs]
        sample = texts[:: max(1, sum(map(len, texts)) // arguments.characters)]
        for name, spans in splitters(lang, texts):
            scores = gold.score_splitter(paragraphs, lang, spans)
            f1 = " | ".join(f"{scores[half].f1:.4f}" for half in ("all", "seen", "held_out"))
            print(f"| {lang} | {name} | {f1} | {speed(spans, sample):,.0f} |", flush=True)
        print(f"| {lang} | ({scores['all'].lost} of {len(gold.read_decisions(lang))} marks are not in the text) |||||")


if __name__ == "__main__":
    main()
