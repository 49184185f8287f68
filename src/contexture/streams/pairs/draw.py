"""Drawing of (query, passage) pairs from one page, as functions of the seed and ids."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from contexture.streams.draws import lazy_shuffle, seeded_random
from contexture.streams.pairs.config import PairSampling
from contexture.streams.tokens import Sentence


class Passage(NamedTuple):
    """A passage of a page. The first section of a page has index 0."""

    passage_id: str
    section_index: int
    sentences: list[Sentence]


class Pair(NamedTuple):
    """A query, the text of its passage, and the passage's id (`document`)."""

    pair_id: str
    query: Sentence
    passage: list[int]
    document: str


#: Draws pairs from the passages of a page.
DrawFunction = Callable[[Sequence[Passage], PairSampling, int], Iterator[Pair]]


def draw_inverse_cloze(passages: Sequence[Passage], config: PairSampling, seed: int) -> Iterator[Pair]:
    """Yield ICT's pairs (section 3): the query is a random sentence of a passage, the document is the rest of it.

    With probability `remove_probability`, all occurrences of the sentence are removed; otherwise all are kept. Passages
    with fewer than two different sentences give no pair.
    """
    for passage_id, _, sentences in passages:
        if len(set(sentences)) > 1:
            for number, query in _draw_queries("ict", passage_id, sentences, set(), config, seed):
                remove = seeded_random(seed, "ict", passage_id, number).random() < config.remove_probability
                rest = [sentence for sentence in sentences if not (remove and sentence == query)]
                yield Pair(f"ict:{passage_id}:{number}", query, list(chain.from_iterable(rest)), passage_id)


def draw_body_first(passages: Sequence[Passage], config: PairSampling, seed: int) -> Iterator[Pair]:
    """Yield BFS's pairs (section 3): a random sentence of the page's first section, and a passage as document.

    Each passage of the page is a document if the first section has a sentence that the passage does not contain. Pages
    without text in the first section give no pair.
    """
    first = [sentence for passage in passages if passage.section_index == 0 for sentence in passage.sentences]
    for passage in passages:
        yield from _pair_with_passage("bfs", passage, first, config, seed)


def draw_neighbours(passages: Sequence[Passage], config: PairSampling, seed: int) -> Iterator[Pair]:
    """Yield pairs of a passage, as document, and a random sentence of the previous or next passage, as query.

    This applies Quick-Thoughts (its section 3) to sentences and passages. The document does not contain the query.
    Pages with one passage give no pair.
    """
    # Sorted by id as text, #10 would follow #1.
    passages = sorted(passages, key=lambda passage: int(passage.passage_id.rpartition("#")[2]))
    for number, passage in enumerate(passages):
        adjacent = [*passages[max(number - 1, 0) : number], *passages[number + 1 : number + 2]]
        candidates = [sentence for other in adjacent for sentence in other.sentences]
        yield from _pair_with_passage("neighbours", passage, candidates, config, seed)


def _pair_with_passage(
    task: str, passage: Passage, queries: Sequence[Sentence], config: PairSampling, seed: int
) -> Iterator[Pair]:
    """Yield pairs of the whole passage with random ones of `queries` that it does not contain."""
    passage_id, _, sentences = passage
    for number, query in _draw_queries(task, passage_id, queries, set(sentences), config, seed):
        yield Pair(f"{task}:{passage_id}:{number}", query, list(chain.from_iterable(sentences)), passage_id)


def _draw_queries(
    task: str, passage_id: str, queries: Sequence[Sentence], seen: set[Sentence], config: PairSampling, seed: int
) -> Iterator[tuple[int, Sentence]]:
    """Yield `pairs_per_passage` different queries in random order, none in `seen`, with their positions."""

    def draw_unseen_queries() -> Iterator[tuple[int, Sentence]]:
        for number in lazy_shuffle(range(len(queries)), seeded_random(seed, task, passage_id)):
            if queries[number] not in seen:
                seen.add(queries[number])
                yield number, queries[number]

    return islice(draw_unseen_queries(), config.pairs_per_passage)
