"""Compare the published numbers with the text of the paper."""

import re
from pathlib import Path

from contexture.reporting.published import Score
from contexture.systems.mspp.fact_verification import TABLES
from contexture.systems.mspp.page import PUBLISHED

METRICS = ("P@1", "MAP", "MRR")
SETS = ("asnq", "wikiqa", "trecqa")


def paper(shared_data: Path) -> str:
    return (shared_data.parent / "papers" / "mspp-joint-transformers-2022.txt").read_text(encoding="utf-8")


def test_published_scores_equal_the_paper(shared_data: Path) -> None:
    order = ["pairwise", "joint_ie", "joint_ae", "mspp_ie", "mspp_ae"]
    names = ("| Pairwise RoBERTa-Base |", "| Joint RoBERTa-Base \\rightarrow", "| (Ours) Joint MSPP")
    lines = [re.sub("</?u>", "*", line) for line in paper(shared_data).splitlines() if line.startswith(names)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    table_1, table_2, table_7 = rows[:5], rows[5:10], rows[10:]
    assert (len(rows), {len(row) for row in table_1}, {len(row) for row in table_2}) == (15, {9}, {3})

    def format_score(score: Score) -> str:
        mean = f"*{score.value}*" if score.significant else f"{score.value}"
        return mean if score.std is None else f"{mean} ({score.std})"

    for column, data in enumerate(SETS):
        of_set = slice(3 * column, 3 * column + 3)
        for position, variant in enumerate(order):
            first, second = (PUBLISHED.tables[name].select_data(data).rows[position] for name in ("table_1", "table_2"))
            assert first.variant == second.variant == variant
            assert [format_score(first.scores[m]) for m in METRICS] == table_1[position][of_set]
            assert format_score(second.scores["P@1"]) == table_2[position][column]
            assert [f"{second.scores[m].value}" for m in METRICS] == table_7[position][of_set]


def test_published_counts_equal_table_5(shared_data: Path) -> None:
    row = r"^\| [^|]* \| (Train|Dev|Test) \| ([\d,]+) \| ([\d,]+) \| [\d.]+ \|$"
    sizes = [
        (split.lower(), (int(questions.replace(",", "")), int(candidates.replace(",", ""))))
        for split, questions, candidates in re.findall(row, paper(shared_data), re.M)
    ]
    published = PUBLISHED.numbers("table_5")
    assert [(split, dict(zip(("questions", "candidates"), size, strict=True))) for split, size in sizes] == [
        (name.split()[1], size) for name, size in published.items()
    ]
    assert list(published) == [f"{data} {split}" for data in SETS for split in ("train", "dev", "test")]


def test_published_latency_equals_the_appendix(shared_data: Path) -> None:
    text = paper(shared_data)
    latency = PUBLISHED.numbers("latency")
    joint, pairwise = (f"{latency[head]['parameters']:,}".replace(",", ", ") for head in ("ae_k", "ie_1"))
    assert f"{joint} and {pairwise} respectively" in text
    assert f"${latency['ie_1']['seconds']}s \\rightarrow {latency['ae_k']['seconds']}s$" in text


def test_published_accuracies_equal_tables_3_and_8(shared_data: Path) -> None:
    text = paper(shared_data)
    accuracies: dict[str, set[tuple[str, ...]]] = {}
    for line in text.splitlines():
        cells = [re.sub(r"</?u>|\(0\.\d\d\)| ", "", cell) for cell in line.strip("|").split("|")[:3]]
        if len(cells) == 3 and all(re.fullmatch(r"\d\d\.\d\d|-", cell) for cell in cells[1:]):
            accuracies.setdefault(cells[0].replace("_", "").replace("₁", "1"), set()).add(tuple(cells[1:]))
    names = {
        "(Ours)JointPreIEk+FTIE1": ("mspp_ie", "ie_1"), "(Ours)JointPreIEk+FTAE1": ("mspp_ie", "ae_1"),
        "(Ours)JointPreAEk+FTIE1": ("mspp_ae", "ie_1"), "(Ours)JointPreAEk+FTAE1": ("mspp_ae", "ae_1"),
        "PairwiseRoBERTa-Base+MaxPool": ("pairwise", "max_pool"),
        "PairwiseRoBERTa-Base+WgtSum": ("pairwise", "weighted_sum"),
        "JointRoBERTa-Base+FTIE1": ("joint_ie", "ie_1"),
        "GEAR": ("GEAR", "published"), "KGATwithRoBERTa-Base": ("KGAT with RoBERTa-Base", "published"),
        "Transformer-XH": ("Transformer-XH", "published"), "PairwiseBERT-Base": ("Pairwise BERT-Base", "published"),
        "JointBERT-Base": ("joint_bert", "ie_1"),
        "DOMLIN++": ("DOMLIN++ (further retrieval and data)", "published"),
        "DREAM": ("DREAM (XLNet)", "published"),
    }  # fmt: skip
    ours = {
        split: {(row.variant or row.label, row.protocol): row.scores.get("accuracy") for row in TABLES[split].rows}
        for split in ("dev", "test")
    }
    assert set(names) <= set(accuracies) and set(names.values()) == set(ours["dev"])
    for name, key in names.items():
        published = tuple(f"{score.value:.2f}" if (score := ours[split][key]) else "-" for split in ("dev", "test"))
        assert accuracies[name] == {published}, name
    deviations = re.findall(r"<u>(8\d\.\d\d)</u> \((0\.\d\d)\)", text)[:4]
    significant = [score for score in ours["dev"].values() if score and score.significant]
    assert sorted(deviations) == sorted((f"{score.value:.2f}", f"{score.std:.2f}") for score in significant)
