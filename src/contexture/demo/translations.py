"""Parallel sentences and translated tasks of the made-up languages.

The layouts are those of Moses, Tatoeba, XTREME's XNLI and PAWS-X, and SentEval.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count

from contexture.demo.config import DemoConfig
from contexture.demo.languages import language_codes, make_translator
from contexture.demo.names import seeded_random
from contexture.demo.novels import iter_sentences, make_novel
from contexture.demo.sentence_tasks import PREMISES, TaskFile, inference_rows, mrpc, task_files

#: Folders of the parts.
BITEXT_DIR, TATOEBA_DIR, XNLI_DIR, PAWSX_DIR = "bitext", "tatoeba", "xnli", "pawsx"

_NUM_PAIRS, _NUM_TEST_PAIRS = 1_000, 300
#: Draw more sentences than needed, because some occur in novels.
_OVERSAMPLING = 1.5
#: Start of a path of SentEval → columns with sentences, and files with a header.
_COLUMNS = {
    "MR/": (0,), "SUBJ/": (0,), "SICK/": (1, 2), "MRPC/": (3, 4), "STS/STSBenchmark/": (5, 6),
    "STS/STS14-en-test/STS.input.": (0, 1), "STS/STS14-en-test/STS.gs.": (),
}  # fmt: skip
_NAMED_COLUMNS = ("SICK/", "MRPC/")

Translate = Callable[[str], str]


def bitext_names(code: str) -> tuple[str, str]:
    """Return the paths of the files with the English and the other side of a language's parallel sentences."""
    return f"{BITEXT_DIR}/train.en-{code}.en", f"{BITEXT_DIR}/train.en-{code}.{code}"


def translated_files(config: DemoConfig) -> Iterator[TaskFile]:
    """Yield path (with `/`) and lines of each file of parallel sentences and translated tasks.

    Sentences of Tatoeba and parallel sentences are disjoint and occur in no novel or task. A task has the same
    sentences in all languages, in the same order; parallel sentences differ by language.
    """
    languages = {code: make_translator(config.seed, code) for code in language_codes(config.languages)}
    new = _draw_sentences(config)
    for code, translate in languages.items():
        for name, lines in zip(bitext_names(code), (new[code], list(map(translate, new[code]))), strict=True):
            yield name, lines
        yield f"{TATOEBA_DIR}/tatoeba.{code}-eng.eng", new[TATOEBA_DIR]
        yield f"{TATOEBA_DIR}/tatoeba.{code}-eng.{code}", list(map(translate, new[TATOEBA_DIR]))
    for code, translate in ({"en": str} | languages).items():
        for part in PREMISES:
            yield f"{XNLI_DIR}/{part}-{code}.tsv", _xnli_lines(config.seed, part, translate)
        yield f"{PAWSX_DIR}/test-{code}.tsv", _pawsx_lines(config.seed, translate)
    for code, translate in languages.items():
        for name, lines in sentence_task_files(config.seed, translate):
            yield f"senteval/{code}/{name}", lines


def _draw_sentences(config: DemoConfig) -> Mapping[str, list[str]]:
    """Return new English sentences for Tatoeba and each language's bitext, from novels that are not written."""
    sizes = dict.fromkeys(language_codes(config.languages), _NUM_PAIRS) | {TATOEBA_DIR: _NUM_TEST_PAIRS}
    series_of: dict[str, str] = {}
    for name, size in sizes.items():
        min_sentences = len(series_of) + _OVERSAMPLING * size
        for index in count():
            for sentence in iter_sentences(make_novel(config.seed, index, "parallel", name)):
                series_of.setdefault(sentence, name)
            if len(series_of) >= min_sentences:
                break
    for series in ((), *((code,) for code in language_codes(config.languages))):
        for index in range(config.novels):
            for sentence in iter_sentences(make_novel(config.seed, index, *series)):
                series_of.pop(sentence, None)
    new = {name: [text for text, series in series_of.items() if series == name] for name in sizes}
    return {name: texts[: sizes[name]] for name, texts in new.items()}


def _xnli_lines(seed: int, part: str, translate: Translate) -> list[str]:
    """Return the lines of an XNLI file: translated premise and hypothesis, and label."""
    rows = inference_rows(seed, part)
    return [f"{translate(row['sentence1'])}\t{translate(row['sentence2'])}\t{row['gold_label']}" for row in rows]


def _pawsx_lines(seed: int, translate: Translate) -> list[str]:
    """Return the lines of a PAWS-X file: two translated sentences; the published test files have no label."""
    _, lines = next(mrpc(seed, seeded_random(seed, PAWSX_DIR)))
    return ["\t".join(map(translate, line.split("\t")[3:])) for line in lines[1:]]


def sentence_task_files(seed: int, translate: Translate) -> Iterator[TaskFile]:
    """Yield path and lines of SentEval's files with translated sentences."""
    for name, lines in task_files(seed):
        if name.startswith("TREC/"):
            parted = [line.split(" ", 1) for line in lines]
            yield name, [f"{label} {translate(question)}" for label, question in parted]
        for start, columns in _COLUMNS.items():
            if name.startswith(start):
                named = int(start in _NAMED_COLUMNS)
                yield name, lines[:named] + [_translate_cells(line, columns, translate) for line in lines[named:]]


def _translate_cells(line: str, columns: tuple[int, ...], translate: Translate) -> str:
    """Return a tab-separated line with the cells in `columns` (counted from 0) translated."""
    cells = line.split("\t")
    return "\t".join(translate(cell) if i in columns else cell for i, cell in enumerate(cells))
