"""The page of multilingual CMLM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean
from typing import Any, cast

from contexture.reporting.default_page import all_tables
from contexture.reporting.names import DATA, PROTOCOLS
from contexture.reporting.page import Page, ReportContext, Section, sections
from contexture.reporting.published import ScoreColumn, ScoreTable, read_published
from contexture.reporting.records import Record
from contexture.reporting.tables import Comparison, Table, comparison_table
from contexture.reporting.task_tables import compare_means, task_table
from contexture.reporting.training_tables import trainings_table
from contexture.systems.cmlm_multilingual.pictures import neighbours_picture, vectors_picture
from contexture.tasks.settings import TEST

PUBLISHED = read_published("contexture.systems.cmlm_multilingual")
TITLE, NOTE, LABELS = PUBLISHED.title, PUBLISHED.note, PUBLISHED.labels
#: Data name of mean scores over languages, and suffix of variants with principal component removal.
XEVAL, PCR = "xeval", "_pcr"
#: Published weights, which are in Tables 3 and 4, and all variants without translations.
MBERT = "mbert"
TEXT_ONLY = ("cmlm", "mlm", MBERT, "untrained")
#: Labels of the variants whose gains are findings.
MAIN = (LABELS["cmlm"], LABELS["cmlm_then_cmlm_br"])
BITEXT, BIAS = "bitext_retrieval", "language_bias"
PROBES = ("senteval", "skip_thoughts")
#: Protocol → description of the vectors.
PROTOCOL_TITLES = {"frozen": "unchanged", "pcr": "without each language's first component"}
TABLE_7 = Section(
    "Table 7: projections and their position",
    text="See the page of the English system, cmlm.",
)


@dataclass(frozen=True)
class Measure:
    """Columns with a common mean."""

    name: str
    data: str
    columns: tuple[ScoreColumn, ...]


def page(records: Sequence[Record], context: ReportContext) -> Page:
    """Return the report page of multilingual CMLM: our scores, the paper's tables and figures, gains over baselines.

    These are Tables 3 to 6 and 8, and Figures 2 and 3.

    Raises:
        ValueError: if a training lacks a key.
    """
    all_records = [*_rename_pcr_variants(records), *_xeval_records(records)]
    labels = {**LABELS, **context.labels}
    gains = _compare_with_baselines(all_records)
    figures, pictured = _draw_language_bias(context.details.get(BIAS, {}), labels)
    other_records = [
        r for r in all_records if r["task"] != BITEXT and r["task"] != "reviews" and r["data"].split("/")[0] != XEVAL
    ]
    return Page(
        findings=[gain.describe(gain.setting) for gain in gains if gain.variant in MAIN],
        sections=sections(
            [
                comparison_table(gains),
                *_xeval_tables(all_records),
                *_bitext_tables(all_records, context.details.get(BITEXT, {})),
                *(task_table(all_records, PUBLISHED.tables[name], "") for name in ("table_6", "table_6_finetuned")),
                TABLE_7,
                *pictured,
                *all_tables(other_records, labels),
                trainings_table(context.trainings, labels, "Pairs"),
            ]
        ),
        figures=figures,
        variants=tuple(name for name in LABELS if not name.endswith(PCR)),
    )


def _rename_pcr_variants(records: Sequence[Record]) -> list[Record]:
    """Return the records; protocol `pcr` (principal component removal) becomes a variant with the suffix `_pcr`."""
    return [
        cast(Record, {**r, "variant": r["variant"] + PCR, "protocol": "frozen"}) if r["protocol"] == "pcr" else r
        for r in records
    ]


def _xeval_records(records: Sequence[Record]) -> list[Record]:
    """Return records of XEVAL, sentence tasks in several languages: mean accuracy by variant, seed and language.

    There is also a record of the mean over languages.
    """
    by_lang: dict[str, dict[tuple[str, int], dict[str, Record]]] = {}
    for r in records:
        if r["metric"] == "accuracy" and r["protocol"] in PROBES:
            lang = r["data"].partition("_")[2] or "en"
            by_lang.setdefault(lang, {}).setdefault((r["variant"], r["seed"]), {})[r["task"]] = r
    measured = [{task for probes in by_run.values() for task in probes} for by_run in by_lang.values()]
    tasks = set.intersection(*measured) if measured else set()
    if len(by_lang) < 2 or not tasks:
        return []
    xeval_records: list[Record] = []
    for run in {run for by_run in by_lang.values() for run in by_run}:
        probes = {lang: by_run[run] for lang, by_run in by_lang.items() if run in by_run}
        values = {
            f"{XEVAL}/{lang}": mean(by_task[task]["value"] for task in tasks)
            for lang, by_task in probes.items()
            if tasks <= set(by_task)
        }
        if len(values) == len(by_lang):
            values[XEVAL] = mean(values.values())
        like = next(record for by_task in probes.values() for record in by_task.values())
        xeval_records += [
            cast(Record, {**like, "task": "sentences", "protocol": XEVAL, "data": data, "value": value})
            for data, value in values.items()
        ]
    return xeval_records


def _list_xeval_languages(records: Sequence[Record]) -> list[str]:
    """Return the languages that the XEVAL records have."""
    return list(dict.fromkeys(r["data"].partition("/")[2] for r in records if r["data"].startswith(f"{XEVAL}/")))


def _xeval_tables(records: Sequence[Record]) -> list[Table]:
    """Return Tables 3 and 4 with our XEVAL scores: variants trained on text, and those trained on translations."""
    ran = _list_xeval_languages(records)
    protocols = {r["protocol"] for r in records} & {*PROBES}
    protocol = PROTOCOLS.get(next(iter(protocols), ""), "SentEval's protocol")
    note = f"Ours: mean accuracy of the classification tasks of all languages, {protocol}."
    published = [replace(PUBLISHED.tables[name], note=note) for name in ("table_3", "table_4")]
    if not ran:
        return [task_table(records, table, XEVAL) for table in published]
    first, second = (replace(table, columns=_language_columns(table, ran)) for table in published)
    translated = set(LABELS) - set(TEXT_ONLY)
    return [
        task_table([r for r in records if r["variant"] not in translated], first, XEVAL),
        task_table([r for r in records if r["variant"] in translated | {MBERT}], second, XEVAL),
    ]


def _language_columns(table: ScoreTable, ran: Sequence[str]) -> tuple[ScoreColumn, ...]:
    """Return a table's columns of languages with scores of ours (the paper's first), and its column of the mean."""
    *langs, average = table.columns
    known = {column.subset for column in langs}
    new = [replace(average, name=lang, subset=lang, key=lang) for lang in ran if lang not in known]
    return (*(column for column in langs if column.subset in ran), *new, average)


def _direction_columns(records: Sequence[Record]) -> dict[str, tuple[ScoreColumn, ...]]:
    """Return data set → a column for each direction of bitext retrieval; if some directions have PCR, only those."""
    sets: dict[str, dict[str, bool]] = {}
    for r in records:
        if r["task"] == BITEXT:
            name, _, direction = r["data"].partition("/")
            has_pcr = sets.setdefault(name, {})
            has_pcr[direction] = has_pcr.get(direction, False) or r["variant"].endswith(PCR)
    return {
        name: tuple(
            ScoreColumn(BITEXT, "frozen", "accuracy", direction, data=name, subset=direction)
            for direction, pcr in has_pcr.items()
            if "36" not in direction and (pcr or not any(has_pcr.values()))
        )
        for name, has_pcr in sets.items()
    }


def _bitext_tables(records: Sequence[Record], details: Mapping[str, Any]) -> list[Table]:
    """Return the tables of bitext retrieval: Tables 5 and 8, and a table of both directions for each data set."""
    plain, fitted = [r for r in records if not r["variant"].endswith(PCR)], _describe_pcr(details.get("pcr_sentences"))
    table_8 = PUBLISHED.tables["table_8"]
    set_tables = [
        ScoreTable(
            f"Bitext retrieval: {DATA.get(name, name)}, from query to searched language",
            directions,
            labels=LABELS,
            note=fitted,
        )
        for name, directions in _direction_columns(records).items()
        if directions
    ]
    return [
        *(task_table(records, table, "") for table in set_tables),
        task_table(plain, PUBLISHED.tables["table_5"], "tatoeba"),
        task_table(records, replace(table_8, note=f"{table_8.note} {fitted}".strip()), "tatoeba"),
    ]


def _describe_pcr(sentences: int | str | None) -> str:
    """Return a sentence on what PCR was fitted on, by the setting `pcr_sentences`; "" without PCR."""
    if sentences is None:
        return ""
    if sentences == TEST:
        return "PCR: fitted on the evaluated sentences of each language, as in the paper."
    return f"PCR: fitted on {sentences:,} corpus sentences of each language; in the paper, on the evaluated sentences."


def _list_measures(records: Sequence[Record]) -> list[Measure]:
    """List the measures in several languages: XEVAL, sentence pairs and bitext retrieval."""
    ran = _list_xeval_languages(records)
    languages = _language_columns(PUBLISHED.tables["table_3"], ran)[:-1]
    measures = [Measure("sentence tasks", XEVAL, languages)] if ran else []
    by_set: dict[str, list[str]] = {}
    for data in dict.fromkeys(r["data"] for r in records if r["task"] == "pairs" and r["protocol"] == "frozen"):
        by_set.setdefault(data.rpartition("_")[0] or data, []).append(data)
    for name, parts in by_set.items():
        measure_columns = tuple(ScoreColumn("pairs", "frozen", "accuracy", data, data=data) for data in parts)
        measures.append(Measure(f"pairs, {DATA.get(name, name)}", "", measure_columns))
    for name, measure_columns in _direction_columns(records).items():
        measures.append(Measure(f"retrieval, {DATA.get(name, name)}", "", measure_columns))
    return measures


def _compare_with_baselines(records: Sequence[Record]) -> list[Comparison]:
    """Return the gains of variants over baselines on each measure, mean over languages."""
    gains = []
    for measure in _list_measures(records):
        table = ScoreTable("", measure.columns, labels=LABELS)
        gains += compare_means(records, table, measure.data, measure.columns, PUBLISHED.comparisons, measure.name)
    return gains


def _draw_language_bias(details: Mapping[str, Any], labels: Mapping[str, str]) -> tuple[dict[str, Any], list[Section]]:
    """Return the figures of language bias by name, and the sections of the page that show them (Figures 2 and 3)."""
    figures: dict[str, Any] = {}
    picture_sections: list[Section] = []
    for name, points in details.get("points", {}).items():
        if not points:
            continue
        languages, data = details["languages"][name], DATA.get(name, name)
        neighbours = {variant: details["neighbours"][name][variant] for variant in points}
        even = 100 * details["expected"][name]
        share = f"Without language bias, {even:.0f}% of neighbours have the language of the sentence. First seed."
        plane = "t-SNE of cosines; each point is a sentence. First seed."
        figures[f"neighbours_{name}"] = neighbours_picture(neighbours, languages, labels, PROTOCOL_TITLES)
        figures[f"vectors_{name}"] = vectors_picture(points, languages, labels, PROTOCOL_TITLES)
        picture_sections += [
            Section(f"Figure 2: languages of the nearest neighbours, {data}", None, [f"neighbours_{name}"], share),
            Section(f"Figure 3: vectors in the plane, {data}", None, [f"vectors_{name}"], plane),
        ]
    return figures, picture_sections
