"""What the paper says of the sets and of the time, beside ours (Table 5, appendix C.3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from contexture.reporting.names import DATA
from contexture.reporting.published import Published
from contexture.reporting.tables import NOTHING, Column, Table, required

#: Models by their heads.
HEADS = {
    "ie_1": "Pairwise: a candidate at a time",
    "ie_k": "Joint, IE_k: k at a time",
    "ae_k": "Joint, AE_k: k at a time",
}


def sets_table(counts: Mapping[str, Mapping[str, int]], published: Published) -> Table:
    """The questions and candidates of each split of the sets that were read, with those of the paper's Table 5."""
    columns = [Column("Data"), Column("Split")]
    columns += [Column(whose, what, True) for what in ("Questions", "Candidates") for whose in ("ours", "paper")]
    known = published.numbers("table_5")
    rows = []
    for data, counted in counts.items():
        for split in ("train", "dev", "test"):
            ours = required(data, counted, (f"{split}_questions", f"{split}_candidates"))
            paper = known.get(f"{data} {split}", {})
            cells = [ours[0], paper.get("questions"), ours[1], paper.get("candidates")]
            rows.append((DATA.get(data, data), split, *(NOTHING if count is None else f"{count:,}" for count in cells)))
    caption = (
        "Of dev and test, questions with a right and a wrong candidate. TREC-QA: the paper counts training questions "
        "by their texts, and its development candidates were not cut at 40 tokens; jacana's edition has 65 and 1,117."
    )
    return Table("Table 5: the sets", tuple(columns), tuple(rows), caption if "trecqa" in counts else "")


def rescued_table(data: str, told: Mapping[str, Any], labels: Mapping[str, str]) -> Table:
    """Questions that pairs answer wrongly and the joint model rightly, with their candidates in the order of pairs."""
    rows = []
    for one in told["questions"]:
        for place, candidate in enumerate(one["candidates"], start=1):
            said = ["the joint model's choice"] if candidate["chosen"] else []
            said += ["right" if candidate["right"] else "wrong"] if candidate["chosen"] or place == 1 else []
            rows.append((one["question"] if place == 1 else "", str(place), candidate["candidate"], ", ".join(said)))
    columns = (Column("Question"), Column("by pairs", numeric=True), Column("Candidate"), Column(""))
    caption = (
        f"{labels.get(told['variant'], told['variant'])}, which orders the first five anew, first seed: of the test "
        f"questions {told['count']:,} are answered so that pairs miss, and {told['lost']:,} are lost."
    )
    return Table(f"Table 4: what reading jointly changes ({DATA.get(data, data)})", columns, tuple(rows), caption)


def latency_table(data: str, told: Sequence[Mapping[str, Any]], published: Published) -> Table:
    """How long models take for the test questions of a set; the paper's seconds are of WikiQA's."""
    columns = [Column("Model"), Column("Inputs", numeric=True), Column("Tokens", numeric=True)]
    columns += [Column(whose, what, True) for what in ("Parameters", "Seconds") for whose in ("ours", "paper")]
    columns.append(Column("times pairwise", numeric=True))
    known = published.numbers("latency")
    base = next((one["seconds"] for one in told if one["head"] == "ie_1"), None)
    rows = []
    for one in sorted(told, key=lambda one: list(HEADS).index(one["head"])):
        head, seconds = one["head"], one["seconds"]
        paper = [f"{known[head][key]:,}" if key in known[head] else NOTHING for key in ("parameters", "seconds")]
        rows.append(
            (
                HEADS[head],
                f"{one['passes']:,}",
                f"{one['tokens']:,}",
                f"{one['parameters']:,}",
                paper[0],
                f"{seconds:.2f}",
                paper[1],
                f"{seconds / base:.2f}" if base else NOTHING,
            )
        )
    device, rounds = (told[0][key] for key in ("device", "rounds")) if told else ("", 0)
    caption = (
        f"On this machine's {'GPU' if device == 'cuda' else 'CPU'}, the models in turns, the median of {rounds} rounds."
        " Padding is not computed, so that tokens tell what is. The paper, one A100, WikiQA: 14 % longer, jointly."
    )
    return Table(f"How long answering takes ({DATA.get(data, data)})", tuple(columns), tuple(rows), caption)
