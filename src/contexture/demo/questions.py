"""Questions about a page, with sentences of the page as candidate answers."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from contexture.demo.config import DemoConfig
from contexture.demo.extras import article_id
from contexture.demo.grammar import Topic, kinds, render, topics
from contexture.demo.names import pick, shuffled, source
from contexture.demo.world import Outline, Page, Sentence, capital, recurring

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
SPLITS = ("train", "dev", "test")
#: Questions asked about each article; all of them fall into the same split.
QUESTIONS_PER_PAGE = 2
#: Share of the articles whose questions go to dev and to test; the rest is train.
DEV_SHARE, TEST_SHARE = 0.16, 0.28

#: Shares of the questions whose candidates are all wrong and all right; published sets have such questions too.
_UNANSWERED, _ALL_RIGHT = 0.12, 0.02
#: Share of the questions that name one of the things their paragraph keeps coming back to: for these, words in common
#: are enough; in the others they are hardly better than chance.
_WITH_TERM = 0.2


@dataclass(frozen=True, slots=True)
class Placed:
    """A sentence, its number in the page and that of its paragraph."""

    sentence: Sentence
    number: int
    paragraph: int

    def states(self, topic: Topic, aspect: str) -> bool:
        """Whether the sentence was written to state this fact."""
        return (self.sentence.topic, self.sentence.aspect) == (topic.name, aspect)


def split(config: DemoConfig, index: int) -> str:
    """The split that all questions about article `index` belong to; every region has pages of all three."""
    region, place = divmod(index, len(kinds()))
    rank = shuffled(range(len(kinds())), source(config.seed, "split", region)).index(place)
    dev, test = round(DEV_SHARE * len(kinds())), round(TEST_SHARE * len(kinds()))
    if rank < dev:
        return "dev"
    return "test" if rank < dev + test else "train"


def rows(config: DemoConfig, page: Page) -> Iterator[tuple[str, ...]]:
    """The questions about a page as rows of the WikiQA format, a question's candidates in page order."""
    about = page.outline
    rng = source(config.seed, about.index, "questions")
    sentences = placed(page)
    facts = shuffled(
        [(topic, aspect) for topic in about.topics for aspect in topics()[topic].ask],
        rng,
    )
    document = f"D{article_id(about.index)}"
    for number, (name, aspect) in enumerate(_choose(facts, sentences, QUESTIONS_PER_PAGE, rng)):
        topic = topics()[name]
        question = ask(about, topic, aspect, rng)
        if rng.random() < _WITH_TERM:
            question = with_term(question, about, topic, rng)
        for candidate in _candidates(sentences, topic, aspect, rng):
            yield (
                f"Q{about.index * QUESTIONS_PER_PAGE + number + 1}",
                question,
                document,
                about.title,
                f"{document}-{candidate.number}",
                candidate.sentence.plain,
                str(int(candidate.states(topic, aspect))),
            )


def ask(about: Outline, topic: Topic, aspect: str, rng: Random) -> str:
    """A question for a fact that names its page."""
    return capital(render(pick(topic.ask[aspect], rng), about.slots, rng))


def with_term(question: str, about: Outline, topic: Topic, rng: Random) -> str:
    """The question with one of the things named that its paragraph keeps coming back to."""
    return f"Speaking of {pick(recurring(about, topic), rng)}, {question[0].lower()}{question[1:]}"


def placed(page: Page) -> list[Placed]:
    """All sentences of a page."""
    paragraphs = [paragraph for section in page.sections for paragraph in section.paragraphs]
    numbered = [(i, sentence) for i, paragraph in enumerate(paragraphs) for sentence in paragraph]
    return [Placed(sentence, number, i) for number, (i, sentence) in enumerate(numbered)]


def _choose(facts: list[tuple[str, str]], placed: list[Placed], count: int, rng: Random) -> list[tuple[str, str]]:
    """`count` facts to ask for, a few of which the page does not state."""
    stated = {(p.sentence.topic, p.sentence.aspect) for p in placed}
    answered = [fact for fact in facts if fact in stated]
    # What a topic is about shows in all of its sentences: only its other facts can go unanswered.
    unanswered = [(t, a) for t, a in facts if (t, a) not in stated and a != next(iter(topics()[t].ask))]
    chosen = []
    for _ in range(count):
        pool = unanswered if unanswered and rng.random() < _UNANSWERED else answered
        chosen.append(pool.pop())
    return chosen


def _candidates(placed: list[Placed], topic: Topic, aspect: str, rng: Random) -> list[Placed]:
    right = [p for p in placed if p.states(topic, aspect)]
    if right and rng.random() < _ALL_RIGHT:
        return right
    size = 5 + int(rng.random() * 8)
    chosen = right[-1:] + [p for p in right[:-1] if rng.random() < 0.5]
    # The page's own name for the topic shows in all sentences on it, and would make them answers of a kind.
    near = aspect != next(iter(topic.ask)) and rng.random() < 0.4
    wrong = [p for p in placed if not p.states(topic, aspect) and (near or p.sentence.topic != topic.name)]
    seen: set[int] = set()
    first: list[Placed] = []
    others: list[Placed] = []
    for p in shuffled(wrong, rng):
        (others if p.paragraph in seen else first).append(p)
        seen.add(p.paragraph)
    chosen += (first + others)[: size - len(chosen)]
    return sorted(chosen, key=lambda p: p.number)
