"""Sizes of sets and latency, compared with the paper (Table 5, appendix C.3), and examples (Table 4)."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.published import Published
from contexture.reporting.tables import NOTHING, Column, Table, require_keys

#: Head → label.
HEADS = {
    "ie_1": "Pairwise: one candidate at a time",
    "ie_k": "Joint, IE_k: k at a time",
    "ae_k": "Joint, AE_k: k at a time",
}


def sets_table(counts: Mapping[str, Mapping[str, int]], published: Published) -> Table:
    """Return the table of questions and candidates in each split, compared with the paper's Table 5."""
    columns = [Column("Data"), Column("Split")]
    columns += [Column(source, unit, True) for unit in ("Questions", "Candidates") for source in ("ours", "paper")]
    sizes = published.numbers("table_5")
    rows = []
    for data, of_set in counts.items():
        for split in ("train", "dev", "test"):
            ours = require_keys(data, of_set, (f"{split}_questions", f"{split}_candidates"))
            paper = sizes.get(f"{data} {split}", {})
            cells = [ours[0], paper.get("questions"), ours[1], paper.get("candidates")]
            rows.append((DATA.get(data, data), split, *(NOTHING if count is None else f"{count:,}" for count in cells)))
    caption = (
        "Dev and test: questions with a right and a wrong candidate. TREC-QA: the paper counts training questions by "
        "text and does not cut development candidates at 40 tokens; jacana's edition has 65 and 1,117."
    )
    return Table("Table 5: sizes of the sets", tuple(columns), tuple(rows), caption if "trecqa" in counts else "")


def rescued_table(data: str, rescued: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    """Return the table of questions that only the joint model answers, with candidates in pairwise order (Table 4)."""
    rows = []
    for question in rescued["questions"]:
        for rank, candidate in enumerate(question["candidates"], start=1):
            notes = ["joint model's choice"] if candidate["chosen"] else []
            notes += ["right" if candidate["right"] else "wrong"] if candidate["chosen"] or rank == 1 else []
            rows.append((question["question"] * (rank == 1), str(rank), candidate["candidate"], ", ".join(notes)))
    columns = (Column("Question"), Column("Pairwise rank", numeric=True), Column("Candidate"), Column(""))
    caption = (
        f"{labels.get(rescued['variant'], rescued['variant'])}, which re-ranks the first five, first seed: it answers "
        f"{rescued['count']:,} test questions that the pairwise model misses, and misses {rescued['lost']:,} that the "
        "pairwise model answers."
    )
    return Table(
        f"Table 4: questions that the joint model gains ({DATA.get(data, data)})", columns, tuple(rows), caption
    )


def latency_table(data: str, latency: Sequence[Mapping[str, Any]], published: Published) -> Table:
    """Return the table of models' seconds on the test questions of a set; the paper's seconds are of WikiQA."""
    columns = [Column("Model"), Column("Inputs", numeric=True), Column("Tokens", numeric=True)]
    columns += [Column(source, unit, True) for unit in ("Parameters", "Seconds") for source in ("ours", "paper")]
    columns.append(Column("Relative to pairwise", numeric=True))
    published_rows = published.numbers("latency")
    by_head = {row["head"]: row for row in latency}
    rows = []
    for head, label in HEADS.items():
        if head not in by_head:
            continue
        row, paper = by_head[head], published_rows[head]
        paper_cells = [f"{paper[key]:,}" if key in paper else NOTHING for key in ("parameters", "seconds")]
        cells = [label, f"{row['passes']:,}", f"{row['tokens']:,}", f"{row['parameters']:,}", paper_cells[0]]
        cells += [f"{row['seconds']:.2f}", paper_cells[1]]
        cells.append(f"{row['seconds'] / by_head['ie_1']['seconds']:.2f}" if "ie_1" in by_head else NOTHING)
        rows.append(tuple(cells))
    device, rounds = (latency[0][key] for key in ("device", "rounds")) if latency else ("", 0)
    caption = (
        f"Median of {rounds} rounds on this machine's {'GPU' if device == 'cuda' else 'CPU'}, models in turns. Padding "
        "is skipped, so tokens measure the computation. Paper (one A100, WikiQA): joint models take 14% longer."
    )
    return Table(f"Latency ({DATA.get(data, data)})", tuple(columns), tuple(rows), caption)
