"""Sampling within one document: rules for examples under all combinations of options."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, permutations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contexture.encoders.config import Lengths, TableSizes
from contexture.streams.draws import lazy_shuffle, seeded_random
from contexture.streams.joint.config import JointConfig, JointSampling
from contexture.streams.joint.document import Candidate, Example, Pool, sample_document
from contexture.streams.tokens import Document, Paragraph, Sentence

#: The settings of the authors' released code.
RELEASED_CODE = JointSampling(positive_rule="following", hard_rule="also_preceding", candidate_sentences=2)


END = 0  # last token of each sentence, to split candidates of two


def sentence(word: int) -> Sentence:
    return (word, word + 1, END)


def corpus(words: list[list[list[int]]]) -> list[Document]:
    """Return documents of paragraphs (with gaps in the indices) of sentences, each given by one word."""
    return [
        Document(f"en:{d}", [Paragraph(2 * p, [sentence(w) for w in ws]) for p, ws in enumerate(paragraphs)])
        for d, paragraphs in enumerate(words)
    ]


def make_pool(documents: Sequence[Document], config: JointSampling) -> Pool:
    rows = []
    for document in sorted(documents):
        for _, sentences in document.paragraphs:
            following = [*sentences[1:], None] if config.candidate_sentences == 2 else [None] * len(sentences)
            rows += [(document.doc_id, Candidate(*pair)) for pair in zip(sentences, following, strict=True)]
    return Pool([doc_id for doc_id, _ in rows], [candidate for _, candidate in rows])


def sample_first_document(
    words: list[list[list[int]]], seed: int, config: JointSampling | None = None, max_tokens: int = 62
) -> list[Example]:
    """Return the examples of a corpus's first document."""
    documents, config = corpus(words), config or JointSampling()
    return sample_document(documents[0], make_pool(documents, config), config, max_tokens, seed)[0]


def split_candidate(tokens: Sentence) -> list[Sentence]:
    """Split a candidate into its sentences."""
    ends = [position + 1 for position, token in enumerate(tokens) if token == END]
    assert ends[-1] == len(tokens)
    return [tokens[start:end] for start, end in pairwise([0, *ends])]


def find_starts(paragraph: Sequence[Sentence], run: Sequence[Sentence]) -> list[int]:
    """Return the positions at which the sentences of `run` occur in the paragraph."""
    return [i for i in range(len(paragraph)) if list(paragraph[i : i + len(run)]) == list(run)]


def find_s0(example: Example, document: Document) -> tuple[Paragraph, int]:
    doc_id, paragraph_index, s0 = example.example_id.rsplit(":", 2)
    assert doc_id == document.doc_id
    return next(p for p in document.paragraphs if p.paragraph_index == int(paragraph_index)), int(s0)


#: Valid combinations of positive and hard rules.
RULES = [("any", "other_paragraphs"), ("following", "other_paragraphs"), ("following", "also_preceding")]
configs = st.builds(
    lambda rules, **numbers: JointSampling(positive_rule=rules[0], hard_rule=rules[1], **numbers),
    st.sampled_from(RULES),
    positives=st.integers(1, 3),
    hard_negatives=st.integers(0, 3),
    easy_negatives=st.integers(0, 3),
    examples_per_paragraph=st.integers(1, 3),
    candidate_sentences=st.sampled_from([1, 2]),
)


def shapes(words: st.SearchStrategy[int]) -> st.SearchStrategy[list[list[list[int]]]]:
    return st.lists(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=4), min_size=1, max_size=4)


@st.composite
def distinct_corpora(draw: st.DrawFn) -> list[Document]:
    """Corpora without repeated sentences, so that a text identifies its source."""
    words = iter(range(1, 10_000, 2))
    return corpus([[[next(words) for _ in p] for p in d] for d in draw(shapes(st.just(1)))])


@settings(max_examples=200, deadline=None)
@given(shapes(st.integers(1, 9)), configs, st.integers(0, 2**32))
def test_examples_follow_the_rules_with_repeated_texts(
    words: list[list[list[int]]], config: JointSampling, seed: int
) -> None:
    documents = corpus(words)
    pool = make_pool(documents, config)
    for document in documents:
        examples, _ = sample_document(document, pool, config, 62, seed)
        assert len({example.example_id for example in examples}) == len(examples)
        per_paragraph = Counter(example.example_id.rsplit(":", 1)[0] for example in examples)
        assert all(count <= config.examples_per_paragraph for count in per_paragraph.values())
        for example in examples:
            check_example(example, document, documents, config)


def check_example(example: Example, document: Document, documents: list[Document], config: JointSampling) -> None:
    paragraph, s0 = find_s0(example, document)
    sentences = paragraph.sentences
    assert example.sentences[0] == sentences[s0]
    assert len(example.sentences) == config.candidates + 1
    assert len(example.labels) == config.candidates
    assert sum(example.labels) == config.positives
    texts = [text for tokens in example.sentences for text in split_candidate(tokens)]
    assert len(set(texts)) == len(texts), "a sentence text occurs twice"
    assert len(set(example.sentences)) == len(example.sentences)
    preceding = 0
    for tokens, label in zip(example.sentences[1:], example.labels, strict=True):
        run = split_candidate(tokens)
        assert 1 <= len(run) <= config.candidate_sentences
        if label:
            first = s0 + 1 if config.positive_rule == "following" else 0
            assert any(position >= first for position in find_starts(sentences, run)), (
                "a positive is not in s0's paragraph"
            )
        elif set(run) & set(sentences):
            assert config.hard_rule == "also_preceding"
            assert any(position + len(run) <= s0 for position in find_starts(sentences, run)), (
                "a negative has a text of the paragraph"
            )
            preceding += 1
        else:
            assert any(
                find_starts(p.sentences, run)
                for d in documents
                for p in d.paragraphs
                if (d.doc_id, p) != (document.doc_id, paragraph)
            )
    assert preceding <= 1


@settings(max_examples=200, deadline=None)
@given(distinct_corpora(), configs, st.integers(0, 2**32))
def test_negatives_have_the_right_sources_and_are_counted(
    documents: list[Document], config: JointSampling, seed: int
) -> None:
    pool = make_pool(documents, config)
    for document in documents:
        examples, counts = sample_document(document, pool, config, 62, seed)
        document_texts = {text for p in document.paragraphs for text in p.sentences}
        elsewhere = sum(candidate.sentence not in document_texts for candidate in pool.candidates)
        total_filled = 0
        for example in examples:
            paragraph, s0 = find_s0(example, document)
            candidates = zip(example.sentences[1:], example.labels, strict=True)
            negatives = [split_candidate(tokens)[0] for tokens, label in candidates if not label]
            hard = sum(text in document_texts for text in negatives)
            available = sum(map(len, (p.sentences for p in document.paragraphs))) - len(paragraph.sentences)
            available += config.hard_rule == "also_preceding" and s0 > 0
            filled = config.hard_negatives - min(config.hard_negatives, available)
            assert hard == config.hard_negatives - filled
            assert len(negatives) - hard == config.easy_negatives + filled <= elsewhere
            total_filled += filled

        last = config.positives if config.positive_rule == "following" else 0
        eligible = [
            max(0, len(p.sentences) - last) if len(p.sentences) > config.positives else 0 for p in document.paragraphs
        ]
        possible_examples = sum(min(count, config.examples_per_paragraph) for count in eligible)
        assert counts == Counter(
            documents=1,
            documents_too_short=not any(eligible),
            paragraphs=len(document.paragraphs),
            paragraphs_too_short=eligible.count(0),
            sentences=len(document_texts),
            examples=len(examples),
            examples_incomplete=possible_examples - len(examples),
            hard_filled_with_easy=total_filled,
        )
        if elsewhere >= config.hard_negatives + config.easy_negatives:
            assert counts["examples_incomplete"] == 0


# Chi-square quantiles at 1 - 0.001 by degrees of freedom. Seeds are fixed, so the tests are deterministic.
CRITICAL = {2: 13.82, 4: 18.47, 5: 20.52, 7: 24.32, 11: 31.26, 23: 49.73}


def chi_square(counts: Counter[int], categories: int) -> float:
    assert len(counts) == categories
    expected = counts.total() / categories
    return sum((count - expected) ** 2 / expected for count in counts.values())


def test_each_sentence_is_equally_likely() -> None:
    """s0, positives, hard and easy negatives, and the position of the positive among the candidates."""
    words = [
        [[1, 3, 5, 7, 9, 11], [13, 15], [17], [19, 21, 23, 25, 27]],
        [[31, 33], [35, 37, 39]],
        [[41], [43, 45, 47, 49, 51, 53]],
    ]
    seen: dict[str, Counter[int]] = {name: Counter() for name in ("s0", "positive", "hard", "easy", "place")}
    for seed in range(2000):
        example = sample_first_document(words, seed)[0]
        seen["s0"][example.sentences[0][0]] += 1
        seen["place"][example.labels.index(1)] += 1
        for (word, *_), label in zip(example.sentences[1:], example.labels, strict=True):
            seen["positive" if label else "hard" if word < 30 else "easy"][word] += 1
    for name, categories in {"s0": 6, "positive": 6, "hard": 8, "easy": 12, "place": 5}.items():
        assert chi_square(seen[name], categories) < CRITICAL[categories - 1], name


def test_following_rule_draws_all_later_sentences() -> None:
    config = JointSampling(positive_rule="following")
    pairs: Counter[tuple[int, int]] = Counter()
    for seed in range(600):
        example = sample_first_document([[[1, 3, 5, 7]], [[9, 11, 13, 15, 17]]], seed, config)[0]
        pairs[example.sentences[0][0], example.sentences[1 + example.labels.index(1)][0]] += 1
    assert set(pairs) == {(1, 3), (1, 5), (1, 7), (3, 5), (3, 7), (5, 7)}
    assert chi_square(Counter({s: sum(n for (a, _), n in pairs.items() if a == s) for s in (1, 3, 5)}), 3) < CRITICAL[2]


def test_released_code_draws_one_or_two_sentences_and_one_before_s0() -> None:
    words = [[[1, 3, 5, 7, 9], [11, 13, 15]], [[21, 23, 25, 27], [29, 31, 33]]]
    lengths: Counter[int] = Counter()
    preceding: Counter[int] = Counter()
    for seed in range(1000):
        for example in sample_first_document(words, seed, RELEASED_CODE):
            assert len(example.sentences) == 6
            paragraph, s0 = find_s0(example, corpus(words)[0])
            for tokens, label in zip(example.sentences[1:], example.labels, strict=True):
                run = split_candidate(tokens)
                lengths[len(run)] += 1
                if label:
                    assert run[0][0] > example.sentences[0][0]
                elif run[0] in paragraph.sentences:
                    assert run[-1][0] < example.sentences[0][0]
                    preceding[run[0][0]] += s0 == 3
    assert set(+preceding) == {1, 3, 5}
    assert chi_square(+preceding, 3) < CRITICAL[2]
    assert 0.25 < lengths[2] / lengths.total() < 0.5


def test_two_sentences_are_cut_at_max_tokens() -> None:
    words, config = [[[1, 3, 5, 7]], [[9, 11, 13, 15, 17, 19]]], JointSampling(candidate_sentences=2)
    examples = [example for seed in range(50) for example in sample_first_document(words, seed, config, max_tokens=4)]
    lengths = {len(tokens) for example in examples for tokens in example.sentences}
    assert lengths == {3, 4}


def test_joined_sentences_never_repeat_another_candidate() -> None:
    """1 2 | 3 in s0's paragraph and 1 2 3 elsewhere would be equal texts of a positive and a negative."""
    document = Document("en:0", [Paragraph(0, [(9,), (1, 2), (3,)])])
    config = JointSampling(hard_negatives=0, easy_negatives=1, candidate_sentences=2)
    pool = Pool(["en:1"], [Candidate((1, 2, 3), None)])
    for seed in range(50):
        [example] = sample_document(document, pool, config, 62, seed)[0]
        assert len(set(example.sentences)) == 3


def test_more_examples_per_paragraph_keep_the_first_ones() -> None:
    words = [[[1, 3, 5, 7], [9, 11]], [[21, 23, 25, 27], [29, 31, 33]]]
    for seed in range(20):
        two_each, all_of_them = (
            sample_first_document(words, seed, JointSampling(examples_per_paragraph=count)) for count in (2, 9)
        )
        assert len(two_each) == 4
        ids = [f"en:0:{paragraph}:{s0}" for paragraph, size in ((0, 4), (2, 2)) for s0 in range(size)]
        assert [example.example_id for example in all_of_them] == ids
        assert all(example in all_of_them for example in two_each)


def test_a_single_document_gives_no_examples() -> None:
    documents = corpus([[[1, 3], [5, 7]]])
    examples, counts = sample_document(documents[0], make_pool(documents, JointSampling()), JointSampling(), 62, 0)
    assert examples == []
    assert (counts["examples"], counts["examples_incomplete"], counts["documents_too_short"]) == (0, 2, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("positives", 0), ("hard_negatives", -1), ("examples_per_paragraph", 0), ("hard_rule", "also_preceding")],
)
def test_invalid_settings_raise_an_error(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        JointSampling(**{name: value})


def test_layout_and_sentence_length_follow_from_the_settings() -> None:
    sampling = JointSampling(positives=2, hard_negatives=1, easy_negatives=4, files=3)
    config = JointConfig(sentence_tokens=20, positions="tokens", pooling="mean", sampling=sampling)
    layout = config.layout
    assert (layout.candidates, layout.sentence_tokens, layout.positions, layout.pooling) == (7, 20, "tokens", "mean")
    assert config.needs(Lengths(9, 9)) == TableSizes(positions=8 * 20, types=8)
    assert config.max_tokens == 20 - 2


@given(st.integers(0, 30), st.data())
def test_lazy_shuffle_yields_each_item_outside_the_range_once(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size))
    end = data.draw(st.integers(start, size))
    items = list(range(size))
    drawn = list(lazy_shuffle(items, Random(data.draw(st.integers(0, 99))), start, end))
    assert sorted(drawn) == items[:start] + items[end:]


def test_lazy_shuffle_draws_all_orders_equally_often() -> None:
    orders = Counter(tuple(lazy_shuffle("abcd", seeded_random("orders", seed))) for seed in range(4800))
    orders_sorted = sorted(permutations("abcd"))
    assert chi_square(Counter({bisect_left(orders_sorted, order): n for order, n in orders.items()}), 24) < CRITICAL[23]


def test_generators_of_different_keys_differ() -> None:
    keys: list[Any] = [(1, "en:1", 2), (1, "en:12"), (1, "en:1", "2"), (11, "en:1", 2), (1, "en:1", 2, 0)]
    assert len({seeded_random(*key).random() for key in keys}) == len(keys)
