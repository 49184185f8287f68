"""ICT and BFS on one page with repeated sentences."""

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.pairs.config import PairSampling, PairsConfig, PassagesConfig
from contexture.streams.pairs.draw import Passage, draw_body_first, draw_inverse_cloze, draw_neighbours
from contexture.streams.tokens import Sentence

END = 0  # last token of each sentence, to split passages


def page(*passages: list[int], lead: int = 1) -> list[Passage]:
    """Return a page whose sentences are given by one word each. The first `lead` passages are its first section."""
    return [Passage(f"en:1#{i}", int(i >= lead), [(word, END) for word in words]) for i, words in enumerate(passages)]


def split_passage(tokens: list[int]) -> list[Sentence]:
    return [(word, END) for word in tokens[::2]]


words = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=5)
configs = st.builds(PairSampling, pairs_per_passage=st.integers(1, 3))


@given(words, configs, st.integers(0, 2**32))
def test_ict_removes_the_query_from_its_passage(passages: list[list[int]], config: PairSampling, seed: int) -> None:
    made = page(*passages)
    pairs = list(draw_inverse_cloze(made, config, seed))
    assert len({pair.pair_id for pair in pairs}) == len(pairs)
    for passage in made:
        passage_pairs = [pair for pair in pairs if pair.document == passage.passage_id]
        texts = len(set(passage.sentences))
        assert len(passage_pairs) == (min(texts, config.pairs_per_passage) if texts > 1 else 0)
        assert len({pair.query for pair in passage_pairs}) == len(passage_pairs)
        for pair in passage_pairs:
            rest = [sentence for sentence in passage.sentences if sentence != pair.query]
            assert len(rest) < len(passage.sentences)
            assert split_passage(pair.passage) == rest != []


@given(words, st.integers(0, 5), configs, st.integers(0, 2**32))
def test_bfs_pairs_passages_with_other_sentences_of_the_first_section(
    passages: list[list[int]], lead: int, config: PairSampling, seed: int
) -> None:
    made = page(*passages, lead=lead)
    first = {sentence for passage in made if passage.section_index == 0 for sentence in passage.sentences}
    pairs = list(draw_body_first(made, config, seed))
    assert len({pair.pair_id for pair in pairs}) == len(pairs)
    for passage in made:
        passage_pairs = [pair for pair in pairs if pair.document == passage.passage_id]
        assert len(passage_pairs) == min(len(first - set(passage.sentences)), config.pairs_per_passage)
        assert len({pair.query for pair in passage_pairs}) == len(passage_pairs)
        for pair in passage_pairs:
            assert pair.query in first - set(passage.sentences)
            assert pair.passage == list(chain.from_iterable(passage.sentences))


def test_neighbours_are_adjacent_on_a_page_of_twelve_passages() -> None:
    made = sorted(page(*([number] for number in range(12))))  # by id as text, as Spark gives them
    pairs = list(draw_neighbours(made, PairSampling(pairs_per_passage=2), 0))
    queries = {number: {pair.query[0] for pair in pairs if pair.document == f"en:1#{number}"} for number in range(12)}
    assert queries == {number: {number - 1, number + 1} & set(range(12)) for number in range(12)}


def test_unsuitable_pages_give_no_pair() -> None:
    config = PairSampling()
    assert list(draw_inverse_cloze(page([1], [2, 2]), config, 0)) == []
    assert list(draw_body_first(page([1, 2, 3]), config, 0)) == []  # one passage contains the first section
    assert list(draw_body_first(page([1, 2], [3], lead=0), config, 0)) == []  # no text before the first heading
    assert list(draw_body_first([], config, 0)) == list(draw_inverse_cloze([], config, 0)) == []


def test_each_sentence_is_equally_likely() -> None:
    made = page([1, 2], [3, 4, 5], [6, 7, 8, 9], lead=2)
    config = PairSampling()
    ict: Counter[int] = Counter()
    bfs: Counter[tuple[str, int]] = Counter()
    for seed in range(2000):
        ict.update(pair.query[0] for pair in draw_inverse_cloze(made, config, seed))
        bfs.update((pair.document, pair.query[0]) for pair in draw_body_first(made, config, seed))
    expected = {1: 1000, 2: 1000, 3: 667, 4: 667, 5: 667, 6: 500, 7: 500, 8: 500, 9: 500}
    assert all(abs(ict[word] - count) < 90 for word, count in expected.items())
    choices = {"en:1#0": [3, 4, 5], "en:1#1": [1, 2], "en:1#2": [1, 2, 3, 4, 5]}
    assert set(bfs) == {(document, word) for document, words in choices.items() for word in words}
    assert all(abs(count - 2000 / len(choices[document])) < 90 for (document, _), count in bfs.items())


def test_remove_probability_is_the_share_of_removed_queries() -> None:
    made = page([1, 2, 3])
    kept = [
        len(pair.passage) == 6
        for seed in range(2000)
        for pair in draw_inverse_cloze(made, PairSampling(remove_probability=0.9), seed)
    ]
    assert len(kept) == 2000
    assert 150 < sum(kept) < 250


def test_more_pairs_per_passage_keep_the_first_ones() -> None:
    made = page([1, 2, 3, 4], [5, 6, 7], [8, 9], lead=2)
    for draw in (draw_inverse_cloze, draw_body_first):
        for seed in range(20):
            few = list(draw(made, PairSampling(remove_probability=0.5), seed))
            many = list(draw(made, PairSampling(remove_probability=0.5, pairs_per_passage=3), seed))
            assert len(few) == 3 < len(many)
            assert all(pair in many for pair in few)


def test_pairs_do_not_change_between_versions() -> None:
    """Runs must be reproducible: if this fails, existing pairs change."""
    made = page([1, 2, 3], [4, 5], [6, 7, 8])
    ict = [(pair.pair_id, pair.query[0], pair.passage[::2]) for pair in draw_inverse_cloze(made, PairSampling(), 1)]
    bfs = [(pair.pair_id, pair.query[0], pair.passage[::2]) for pair in draw_body_first(made, PairSampling(), 1)]
    assert ict == [("ict:en:1#0:1", 2, [1, 3]), ("ict:en:1#1:1", 5, [4]), ("ict:en:1#2:2", 8, [6, 7])]
    assert bfs == [("bfs:en:1#1:0", 1, [4, 5]), ("bfs:en:1#2:1", 2, [6, 7, 8])]


@pytest.mark.parametrize("name", ["pairs_per_passage", "remove_probability"])
def test_invalid_settings_raise_an_error(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        PairSampling(**{name: 1.1 if name == "remove_probability" else 0})  # type: ignore[arg-type]


def test_passages_need_positions() -> None:
    """Passages are batches of tokens; texts of pairs get positions from their encoder."""
    lengths = Lengths(query=9, document=30)
    assert (PassagesConfig().needs(lengths), PairsConfig().needs(lengths)) == (TableSizes(30), TableSizes())
