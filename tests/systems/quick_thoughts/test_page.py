import pytest

from contexture.reporting.records import Record
from contexture.reporting.report import ReportContext, SentenceFacts, render_report
from tests.reporting.pages import Page

SPEED = {"words_per_second": 9000.0, "seconds": 60.0, "parameters": 1000}
CONTEXT = ReportContext(
    system="quick_thoughts",
    title="Quick-Thoughts",
    note="Small models: not comparable with the paper.",
    counts={"Dropped": {"empty_sentences": 7}},
    sentences=SentenceFacts(
        neighbours=[{"query": "It <b>rained</b>.", "model": "uni", "neighbour": "It poured.", "cosine": 0.9}],
        chosen=[{"variant": "uni", "task": "mr", "protocol": "skip_thoughts", "c": [1.0, 4.0]}],
        quality_over_time=[
            {"run": run, "seed": 0, "step": 1, "seconds": 9.0, "task": "mr", "metric": "accuracy", "value": 0.5}
            for run in ("uni", "skip_thought")
        ],
        missing={"image_captions": "no folder of image features.", "sst2": "no folder SST"},
        speed={
            "uni": {**SPEED, "sentences_per_second": 700.0},
            "skip_thought": {**SPEED, "sentences_per_second": 100.0},
        },
    ),
)


def measured(
    variant: str, values: list[float], task: str = "mr", split: str = "skip_thoughts", metric: str = "accuracy"
) -> list[Record]:
    return [
        Record(system="quick_thoughts", variant=variant, task=task, split=split, metric=metric, value=value, seed=seed)
        for seed, value in enumerate(values)
    ]


RECORDS = [
    *measured("combine", [0.60, 0.62, 0.64]),
    *measured("random", [0.55, 0.55, 0.56]),  # differences 5, 7, 8: mean 6.67, std. dev. 1.53
    *measured("word_average", [0.58]),
    *measured("uni", [0.6]),
    *measured("all-mini", [0.7]),
    *measured("combine", [0.333], task="sst5"),
    *measured("combine", [0.111], split="senteval"),
    *measured("combine", [0.5], task="sts14", split="deft-forum", metric="pearson"),
    *measured("combine", [0.55], task="sts14", split="all", metric="pearson_weighted_mean"),
    *measured("combine", [0.25], task="stsb", split="all", metric="spearman_mean"),
    *measured("random", [0.125], task="stsb", split="all", metric="spearman_mean"),
]


def section(markdown: str, title: str) -> list[str]:
    """The lines below a heading."""
    return markdown.split(f"\n## {title}\n")[1].split("\n## ")[0].splitlines()


def row(lines: list[str], label: str, whose: str = "ours") -> list[str]:
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (found, *_) = [cells for cells in rows if cells[0] == label and cells[1].startswith(whose)]
    return found


def test_the_papers_tables_with_ours() -> None:
    text = render_report(RECORDS, [], CONTEXT).markdown
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
    text = render_report(RECORDS, [], CONTEXT).markdown
    gains = [line for line in section(text, "Gains, seed by seed") if "random encoder" in line.lower()]
    assert [line.split(" | ")[0] for line in gains] == ["| combine-QT", "| uni-QT", "| combine-QT"]
    assert [line for line in text.splitlines() if line.startswith(("- On", "- uni"))] == [
        # t = 6.67/(1.53/√3) = 7.56; against the word average, which no seed changes, 2, 4, 6: t = 4/(2/√3) = 3.46
        "- On average (classification tasks, skip-thoughts probe, mean of 1), combine-QT: +6.7 points of accuracy over "
        "random encoder (t(2) = 7.56, p = 0.017: significant at 95%).",
        "- On average (classification tasks, skip-thoughts probe, mean of 1), combine-QT: +4.0 points of accuracy over "
        "word average (t(2) = 3.46, p = 0.074: not significant at 95%). The paper: +0.1.",
        "- On average (similarity tasks, mean of 1), combine-QT: +12.5 points of mean Spearman over "
        "random encoder (no test with one seed).",
        "- uni-QT trains on 7.0 times as many sentences a second as Skip-Thought (700 against 100). "
        "The paper, with one encoder for both: 4.8 times.",
    ]


def test_both_forms_say_the_same() -> None:
    analogies = [r for split in ("all", "tense") for r in measured("mc", [0.4], "analogies", split)]
    analogies += measured("mc", [0.45], "analogies", "tense", "accuracy_excluding")
    captions = measured("mc", [0.3], "image_captions", "test", "annotation_recall_at_5")
    captions += measured("mc", [2.5], "image_captions", "test", "search_median_rank")
    report = render_report([*RECORDS, *captions, *analogies], [], CONTEXT)
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
        "empty sentences",
    ):
        assert shown in text
        assert shown in report.markdown
    assert row(section(report.markdown, "Sentence analogies"), "Model", "From")[2:] == ["tense", "all"]
    assert list(report.figures) == ["quality_over_time.png"]
    assert "![quality_over_time.png](quality_over_time.png)" in report.markdown
    assert report.html.count('<tr class="paper">') == report.markdown.count("| paper |")


def test_before_anything_was_run_the_papers_numbers_stand_alone() -> None:
    report = render_report([], [], ReportContext("quick_thoughts", "Quick-Thoughts", "Nothing was run."))
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
    assert "Not run: no folder of image features." in render_report([], [], CONTEXT).markdown


@pytest.mark.parametrize(
    ("task", "split", "metric", "message"),
    [
        ("mr", "test", "accuracy", r"split of 'accuracy' must be one of the protocols \['skip_thoughts', 'senteval'\]"),
        ("mrpc", "all", "f1", "split of 'f1' must be one of the protocols"),
        ("sts14", "deft-forum", "pearson_mean", "split of 'pearson_mean' must be 'all'"),
        ("sts14", "all", "spearman", "split of 'spearman' must be one of .* or the name of a subset"),
        ("image_captions", "dev", "search_median_rank", "split of 'search_median_rank' must be 'test'"),
        ("mr", "senteval", "map", "'map' is no metric of 'mr'"),
        ("mr", "test", "search_median_rank", "'search_median_rank' is no metric of 'mr'"),
    ],
)
def test_records_that_no_evaluation_of_sentences_makes_are_refused(
    task: str, split: str, metric: str, message: str
) -> None:
    with pytest.raises(ValueError, match=f"{message}.*'split': '{split}'"):
        render_report(measured("uni", [0.5], task, split, metric), [], CONTEXT)


def test_facts_with_keys_missing_are_refused() -> None:
    facts = SentenceFacts(speed={"uni": SPEED})
    with pytest.raises(ValueError, match=r"told of the speed of uni lacks \['sentences_per_second'\]"):
        render_report([], [], ReportContext("quick_thoughts", "", "", sentences=facts))
