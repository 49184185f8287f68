"""The page of CMLM in many languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any, cast

from contexture.reporting.default_page import every_table
from contexture.reporting.estimates import Estimate, estimate
from contexture.reporting.names import DATA, PROTOCOLS
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import TaskColumn, TaskTable
from contexture.reporting.records import Record
from contexture.reporting.tables import Column, Table
from contexture.reporting.task_tables import compare_means, task_table
from contexture.reporting.training_tables import trainings_table
from contexture.systems.cmlm_multilingual.pictures import neighbours_picture, vectors_picture
from contexture.systems.cmlm_multilingual.published import (
    CLAIMS,
    CLASSIFIED,
    LABELS,
    OF_TEXT,
    PCR,
    RETRIEVED,
    XEVAL,
    Claim,
    pcr_table,
    reviews_table,
    tatoeba_table,
    xeval_tables,
)

TITLE = "CMLM in many languages, with translations"
NOTE = (
    "Ours: encoders of the sizes above, trained on the text and the translations above. The paper's have BERT-base's "
    "size, read Common Crawl in 113 languages and translations mined from the web for 2,000,000 steps and more of "
    "2,048 pairs. Unless the configuration says the same, the numbers are not comparable; what can be compared is the "
    "order of the rows."
)
BITEXT, BIAS = "bitext_retrieval", "language_bias"
#: What is done to vectors before they are compared, and how it is said.
SAID = {"frozen": "as they are", "pcr": "less each language's first component"}
TABLE_7 = Section(
    "Table 7: projections and where they stand",
    text="Of the English system: its page, cmlm, has it beside ours.",
)


@dataclass(frozen=True)
class Measure:
    """Columns whose mean is compared."""

    kind: str
    name: str
    data: str
    columns: tuple[TaskColumn, ...]


@dataclass(frozen=True)
class Answer:
    """What our seeds say to a claim: differences in points, one a seed."""

    claim: Claim
    on: str
    differences: tuple[float, ...]

    @property
    def score(self) -> Estimate:
        """Their mean and half of its interval."""
        found = estimate(self.differences)
        assert found is not None  # a claim without a number is none
        return found

    @property
    def points(self) -> str:
        """Their mean and its 95% interval."""
        score = self.score
        return f"{score.mean:+.1f}" + (f" ± {score.interval:.1f}" if score.interval is not None else "")

    @property
    def answer(self) -> str:
        """Yes or no where the interval leaves out 0; with one seed, what it looks like."""
        score = self.score
        right = score.mean > 0 if self.claim.higher else score.mean < 0
        if score.interval is None:
            return f"{'yes' if right else 'no'}, with one seed"
        return "open" if abs(score.mean) <= score.interval else "yes" if right else "no"

    @property
    def sentence(self) -> str:
        """All of it in words."""
        return f"{self.claim.said}: {self.answer} ({self.on}: {self.points} points)."


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """The paper's Tables 3 to 6 and 8 and its Figures 2 and 3 beside ours, and what our seeds say to its claims.

    Raises:
        ValueError: for trainings with keys missing.
    """
    shown = [*_with_pcr(records), *_xeval(records)]
    labels = {**LABELS, **context.labels}
    answers = _answers(shown)
    figures, pictured = _pictures(context.facts.get(BIAS, {}), labels)
    others = [r for r in shown if r["task"] != BITEXT and r["task"] != "reviews" and r["data"].split("/")[0] != XEVAL]
    return Page(
        # Of each claim the first that was measured; the table has them all.
        findings=[one.sentence for one in {answer.claim: answer for answer in reversed(answers)}.values()][::-1],
        sections=[
            *sections([_claims_table(answers)]),
            *sections(_xeval_tables(shown)),
            *sections(_bitext_tables(shown)),
            *sections([task_table(shown, reviews_table(), "")]),
            TABLE_7,
            *pictured,
            *sections(every_table(others, labels)),
            *sections([trainings_table(context.trainings, labels, "Pairs")]),
        ],
        figures=figures,
        variants=tuple(name for name in LABELS if not name.endswith(PCR)),
    )


def _with_pcr(records: Sequence[Record]) -> list[Record]:
    """What was measured with PCR, as a variant of its own."""
    return [
        cast(Record, {**r, "variant": r["variant"] + PCR, "protocol": "frozen"}) if r["protocol"] == "pcr" else r
        for r in records
    ]


def _xeval(records: Sequence[Record]) -> list[Record]:
    """Of each variant and seed the mean accuracy of the sentence tasks by language, and that of all languages."""
    probes = [r for r in records if r["metric"] == "accuracy" and r["protocol"] in ("senteval", "skip_thoughts")]
    by_lang: dict[str, dict[tuple[str, int], dict[str, Record]]] = {}
    for r in probes:
        _, _, lang = r["data"].partition("_")
        by_lang.setdefault(lang or "en", {}).setdefault((r["variant"], r["seed"]), {})[r["task"]] = r
    every = [{task for found in of.values() for task in found} for of in by_lang.values()]
    tasks = set.intersection(*every) if every else set()
    if len(by_lang) < 2 or not tasks:
        return []
    found: list[Record] = []
    for who in {who for of in by_lang.values() for who in of}:
        values = {
            lang: mean(of[who][task]["value"] for task in tasks)
            for lang, of in by_lang.items()
            if who in of and tasks <= set(of[who])
        }
        one = next(r for of in by_lang.values() if who in of for r in of[who].values())
        told = {f"{XEVAL}/{lang}": value for lang, value in values.items()}
        if len(values) == len(by_lang):
            told[XEVAL] = mean(values.values())
        found += [
            cast(Record, {**one, "task": "sentences", "protocol": XEVAL, "data": data, "value": value})
            for data, value in told.items()
        ]
    return found


def _xeval_tables(records: Sequence[Record]) -> list[Table]:
    ran = [r["data"].partition("/")[2] for r in records if r["data"].startswith(f"{XEVAL}/")]
    protocols = {r["protocol"] for r in records} & {"senteval", "skip_thoughts"}
    published = xeval_tables(PROTOCOLS.get(next(iter(protocols), ""), "SentEval's protocol"))
    if not ran:
        return [task_table(records, table, XEVAL) for table in published]
    first, second = (_of_languages(table, ran) for table in published)
    translated = set(LABELS) - set(OF_TEXT)
    return [
        task_table([r for r in records if r["variant"] not in translated], first, XEVAL),
        task_table([r for r in records if r["variant"] in translated], second, XEVAL),
    ]


def _of_languages(table: TaskTable, ran: Sequence[str]) -> TaskTable:
    """The columns that ours have, of languages that the paper has not behind those that it has."""
    *langs, average = table.columns
    kept = [place for place, column in enumerate(langs) if column.subset in ran]
    known = {langs[place].subset for place in kept}
    new = [
        TaskColumn("sentences", XEVAL, "accuracy", lang, subset=lang)
        for lang in dict.fromkeys(ran)
        if lang not in known
    ]
    rows = tuple(
        replace(row, scores=(*(row.scores[place] for place in kept), *[None] * len(new), row.scores[-1]))
        for row in table.rows
    )
    return replace(table, columns=(*(langs[place] for place in kept), *new, average), rows=rows)


def _sets(records: Sequence[Record]) -> dict[str, list[str]]:
    """Set of bitext → the directions that are compared: those between languages of the corpus, where PCR says which."""
    found: dict[str, dict[str, bool]] = {}
    for r in records:
        if r["task"] == BITEXT:
            name, _, direction = r["data"].partition("/")
            of = found.setdefault(name, {})
            of[direction] = of.get(direction, False) or r["variant"].endswith(PCR)
    return {
        name: [one for one, pcr in of.items() if "36" not in one and (pcr or not any(of.values()))]
        for name, of in found.items()
    }


def _columns(name: str, directions: Sequence[str]) -> tuple[TaskColumn, ...]:
    return tuple(TaskColumn(BITEXT, "frozen", "accuracy", one, data=name, subset=one) for one in directions)


def _bitext_tables(records: Sequence[Record]) -> list[Table]:
    """Tables 5 and 8, and of every set the languages that the corpus has, both ways."""
    plain = [r for r in records if not r["variant"].endswith(PCR)]
    own = [
        TaskTable(
            f"Bitext retrieval: {DATA.get(name, name)}, who asks and in what is searched", "", "", columns, (), LABELS
        )
        for name, directions in _sets(records).items()
        if (columns := _columns(name, directions))
    ]
    return [
        *(task_table(records, table, "") for table in own),
        task_table(plain, tatoeba_table(), "tatoeba"),
        task_table(records, pcr_table(), "tatoeba"),
    ]


def _measures(records: Sequence[Record]) -> list[Measure]:
    """What was measured in several languages: XEVAL, sets of pairs, and sets of translations."""
    xeval, *_ = xeval_tables("")
    ran = list(dict.fromkeys(r["data"].partition("/")[2] for r in records if r["data"].startswith(f"{XEVAL}/")))
    found = [Measure(CLASSIFIED, "sentence tasks", XEVAL, _of_languages(xeval, ran).columns[:-1])] if ran else []
    pairs = dict.fromkeys(r["data"] for r in records if r["task"] == "pairs" and r["protocol"] == "frozen")
    by_set: dict[str, list[str]] = {}
    for data in pairs:
        by_set.setdefault(data.rpartition("_")[0] or data, []).append(data)
    for name, every in by_set.items():
        columns = tuple(TaskColumn("pairs", "frozen", "accuracy", data, data=data) for data in every)
        found.append(Measure(CLASSIFIED, f"pairs, {DATA.get(name, name)}", "", columns))
    for name, directions in _sets(records).items():
        found.append(Measure(RETRIEVED, f"retrieval, {DATA.get(name, name)}", "", _columns(name, directions)))
    return found


def _answers(records: Sequence[Record]) -> list[Answer]:
    """Every claim on everything that it is about and that was measured."""
    measures, found = _measures(records), []
    for claim in CLAIMS:
        for measure in measures:
            if measure.kind in claim.on:
                table = TaskTable("", "", "", measure.columns, (), LABELS)
                pairs = [(claim.variant, claim.baseline)]
                gains = compare_means(records, table, measure.data, measure.columns, pairs, measure.name)
                found += [Answer(claim, gain.setting, gain.differences) for gain in gains]
    return found


def _claims_table(answers: Sequence[Answer]) -> Table:
    return Table(
        "The paper's claims",
        (
            Column("Claim"),
            Column("Asked of"),
            Column("On"),
            Column("Seeds", numeric=True),
            Column("Points", numeric=True),
            Column("Answer"),
        ),
        tuple(
            (
                one.claim.said,
                f"{LABELS[one.claim.variant]} over {LABELS[one.claim.baseline]}",
                one.on,
                str(len(one.differences)),
                one.points,
                one.answer,
            )
            for one in answers
        ),
        "Mean difference of the seeds, and its 95% interval by Student's t: the answer is yes or no where that leaves "
        "out 0. Accuracy on the test data, mean over languages.",
    )


def _pictures(facts: Mapping[str, Any], labels: Mapping[str, str]) -> tuple[dict[str, Any], list[Section]]:
    """Figures 2 and 3 of every set whose variants are drawn."""
    figures: dict[str, Any] = {}
    found: list[Section] = []
    for name, points in facts.get("points", {}).items():
        if not points:
            continue
        languages, data = facts["languages"][name], DATA.get(name, name)
        neighbours = {variant: facts["neighbours"][name][variant] for variant in points}
        even = 100 * facts["expected"][name]
        figures[f"neighbours_{name}"] = neighbours_picture(neighbours, languages, labels, SAID)
        figures[f"vectors_{name}"] = vectors_picture(points, languages, labels, SAID)
        found += [
            Section(
                f"Figure 2: languages of the nearest neighbours, {data}",
                figures=[f"neighbours_{name}"],
                text=f"Where language plays no part, {even:.0f} of 100 are of the sentence's own. First seed.",
            ),
            Section(
                f"Figure 3: vectors in the plane, {data}",
                figures=[f"vectors_{name}"],
                text="By t-SNE of cosines, a point a sentence. First seed.",
            ),
        ]
    return figures, found
