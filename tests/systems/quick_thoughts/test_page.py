import pytest

from contexture.reporting.page import ReportContext
from contexture.reporting.records import Record
from contexture.reporting.report import Report, render_report
from contexture.systems.quick_thoughts.page import NOTE, TITLE, page
from tests.reporting.make import TRAINING
from tests.reporting.make import measured as measure
from tests.reporting.pages import Page

CONTEXT = ReportContext(
    system="quick_thoughts",
    title=TITLE,
    note=NOTE,
    facts={
        "sentences": {
            "neighbours": [{"query": "It <b>rained</b>.", "model": "uni", "neighbour": "It poured.", "cosine": 0.9}],
            "chosen": [{"variant": "uni", "task": "mr", "protocol": "skip_thoughts", "c": [1.0, 4.0]}],
            "quality_over_time": [
                {"run": run, "seed": 0, "step": 1, "seconds": 9.0, "task": "mr", "metric": "accuracy", "value": 0.5}
                for run in ("uni", "skip_thought")
            ],
            "missing": {"image_captions": "no folder of image features.", "sst2": "no folder SST"},
            "dropped": {"stsb": 7},
            "zero_vectors": {"uni": 11},
        }
    },
    trainings={
        "uni": {**TRAINING, "seconds": 10.0, "examples": 7000},
        "skip_thought": {**TRAINING, "seconds": 10.0, "examples": 1000},
    },
)


def measured(
    variant: str,
    values: list[float],
    task: str = "mr",
    protocol: str = "skip_thoughts",
    metric: str = "accuracy",
    data: str = "senteval",
) -> list[Record]:
    return measure(variant, values, task, data, protocol, metric, system="quick_thoughts")


def rendered(records: list[Record], context: ReportContext = CONTEXT) -> Report:
    return render_report(records, [], context, page)


RECORDS = [
    *measured("combine", [0.60, 0.62, 0.64]),
    *measured("random", [0.55]),
    *measured("random_combine", [0.55, 0.55, 0.56]),  # differences 5, 7, 8: mean 6.67, std. dev. 1.53
    *measured("word_average", [0.58]),
    *measured("uni", [0.6]),
    *measured("all-mini", [0.7]),
    *measured("combine", [0.333], task="sst5"),
    *measured("combine", [0.111], protocol="senteval"),
    *measured("combine", [0.5], task="sts14", protocol="cosine", metric="pearson", data="senteval/deft-forum"),
    *measured("combine", [0.55], task="sts14", protocol="cosine", metric="pearson_weighted_mean"),
    *measured("combine", [0.25], task="stsb", protocol="cosine", metric="spearman_mean"),
    *measured("random_combine", [0.125], task="stsb", protocol="cosine", metric="spearman_mean"),
]


def section(markdown: str, title: str) -> list[str]:
    """The lines below a heading."""
    return markdown.split(f"\n## {title}\n")[1].split("\n## ")[0].splitlines()


def row(lines: list[str], label: str, whose: str = "ours") -> list[str]:
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (found, *_) = [cells for cells in rows if cells[0] == label and cells[1].startswith(whose)]
    return found


def test_the_papers_tables_with_ours() -> None:
    text = rendered(RECORDS).markdown
    first = section(text, "Table 1: unsupervised representations on downstream tasks, skip-thoughts probe")
    assert row(first, "Model", "From")[2:] == [
        *("MR", "CR", "SUBJ", "MPQA", "TREC"),
        *("MSRP accuracy", "MSRP F1", "SICK-R r", "SICK-R ρ", "SICK-R MSE"),
    ]
    assert row(first, "combine-QT", "paper")[2:5] == ["78.2", "84.4", "93.3"]
    assert row(first, "combine-QT") == ["combine-QT", "ours, 3 seeds", "62.0 (2.0)", *["–"] * 9]
    assert row(first, "all-mini")[:3] == ["all-mini", "ours, 1 seed", "70.0"]
    assert not any("11.1" in line for line in first)  # the other protocol's
    other = section(text, "Table 1: unsupervised representations on downstream tasks, SentEval's protocol")
    assert row(other, "combine-QT")[2] == "11.1"
    assert any("The paper's numbers are by the skip-thoughts probe." in line for line in other)
    second = section(text, "Tables 2 and 3: supervised representations and methods, skip-thoughts probe")
    assert row(second, "InferSent", "paper")[6] == "84.6"
    assert row(second, "combine-QT")[2] == "62.0 (2.0)"
    assert "33.3" in row(section(text, "Further tasks, skip-thoughts probe"), "combine-QT")
    eighth = section(text, "Table 8: STS14 by cosine, Pearson")
    assert row(eighth, "QT (RNN)", "paper")[2:] == ["0.48", "0.15", "0.53", "0.62", "0.53", "0.48", "0.49"]
    assert row(eighth, "combine-QT")[2:] == ["–", "0.500", "–", "–", "–", "–", "0.550"]


def test_findings_are_those_of_the_first_variant_that_was_compared() -> None:
    text = rendered(RECORDS).markdown
    gains = [line for line in section(text, "Gains, seed by seed") if "| Untrained" in line]
    assert [line.split(" | ")[0] for line in gains] == ["| combine-QT", "| uni-QT", "| combine-QT"]
    assert [line for line in text.splitlines() if line.startswith(("- On", "- uni"))] == [
        # t = 6.67/(1.53/√3) = 7.56; against the word average, which no seed changes, 2, 4, 6: t = 4/(2/√3) = 3.46
        "- On average (classification tasks, skip-thoughts probe, mean of 1), combine-QT: +6.7 points of accuracy over "
        "untrained combine-QT (t(2) = 7.56, p = 0.017: significant at 95%).",
        "- On average (classification tasks, skip-thoughts probe, mean of 1), combine-QT: +4.0 points of accuracy over "
        "average of word vectors (t(2) = 3.46, p = 0.074: not significant at 95%). The paper: +0.1.",
        "- On average (similarity tasks, mean of 1), combine-QT: +12.5 points of mean Spearman over "
        "untrained combine-QT (no test with one seed).",
        "- uni-QT trains on 7.0 times as many sentences a second as Skip-Thought (700 against 100). "
        "The paper, with one encoder for both: 4.8 times.",
    ]


def test_both_forms_say_the_same() -> None:
    analogies = [
        r
        for data in ("senteval", "senteval/tense")
        for r in measured("mc", [0.4], "analogies", "nearest", "accuracy", data)
    ]
    analogies += measured("mc", [0.45], "analogies", "nearest", "accuracy_excluding", "senteval/tense")
    captions = measured("mc", [0.3], "image_captions", "ranking", "annotation_recall_at_5")
    captions += measured("mc", [2.5], "image_captions", "ranking", "search_median_rank")
    report = rendered([*RECORDS, *captions, *analogies])
    text = Page(report.html).text
    for shown in (
        "Gains, seed by seed",
        "Figure 2: quality against the time of training",
        "Similarity by cosine: every task, every way to put its subsets together",
        "0.550",
        "Table 4: image–caption ranking",
        "46.7",
        "2.5",
        "Sentence analogies",
        "40.0",
        "Sentence analogies, without the question's own sentences",
        "45.0",
        "Table 5: nearest neighbours",
        "It <b>rained</b>.",
        "It poured. (0.90)",
        "Chosen C of the probes",
        "1 (1–4)",
        "Training: size and speed",
        "Not measured",
        "no folder SST",
        "Lines without a sentence or a score",
        "Sentences of the tasks without a known word",
    ):
        assert shown in text
        assert shown in report.markdown
    assert row(section(report.markdown, "Sentence analogies"), "Model", "From")[2:] == ["tense", "all"]
    assert list(report.figures) == ["quality_over_time.png"]
    assert "![quality_over_time.png](quality_over_time.png)" in report.markdown
    assert report.html.count('<tr class="paper">') == report.markdown.count("| paper |")


def test_before_anything_was_run_the_papers_numbers_stand_alone() -> None:
    report = rendered([], ReportContext("quick_thoughts", "Quick-Thoughts", "Nothing was run."))
    text = Page(report.html).text
    assert {"78.2", "87.6", "0.49"} <= set(text)
    assert "ours," not in report.markdown
    assert "SentEval" not in report.markdown
    assert report.figures == {}
    for absent in ("Gains", "Similarity by cosine", "Further", "analogies", "Chosen", "Training:", "Not measured"):
        assert f"<h2>{absent}" not in report.html
    for said in (
        "Not run: no encoders were kept on the way of their training.",
        "Not run: no neighbours were looked for.",
        "Not run: there are no records of image_captions.",
    ):
        assert said in report.markdown
    assert "Not run: no folder of image features." in rendered([]).markdown


def test_the_demo_stands_beside_the_papers_tables_and_other_tasks_too() -> None:
    ours = [
        *measured("combine", [0.5, 0.75], data="demo"),
        *measured("random", [0.25, 0.25], data="demo"),
        *measured("combine", [0.625], "retrieval", "frozen", "recall_at_10", "demo"),
    ]
    text = rendered(ours).markdown
    title = "Table 1: unsupervised representations on downstream tasks, skip-thoughts probe"
    table = section(text, f"{title} (ours: the demo's made-up world)")
    assert row(table, "combine-QT")[2] == "62.5 (17.7)"
    assert row(table, "combine-QT", "paper")[2] == "78.2"
    assert row(section(text, "Passage retrieval (the demo's made-up world)"), "combine-QT")[2] == "62.5"


def test_facts_with_keys_missing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"told of the training of uni lacks \['parameters', 'steps'"):
        rendered([], ReportContext("quick_thoughts", "", "", trainings={"uni": {"seconds": 1.0}}))
