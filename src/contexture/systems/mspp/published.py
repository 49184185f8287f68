"""Di Liello et al. 2022, *Paragraph-based Transformer Pre-training for Multi-Sentence Inference*."""

from contexture.reporting.names import REFERENCES
from contexture.reporting.published import PublishedTable, Row, Score

TASK = "answer_selection"
METRICS = ("p_at_1", "map", "mrr")

LABELS = {
    "pairwise": "Pairwise cross-encoder",
    "joint_ie": "Joint without MSPP, IE_k",
    "joint_ae": "Joint without MSPP, AE_k",
    "mspp_ie": "Joint with MSPP, IE_k",
    "mspp_ae": "Joint with MSPP, AE_k",
    "base_ie": "Joint untrained, IE_k",
} | {name: REFERENCES[name] for name in ("word_overlap", "random_order", "file_order")}


def _scores(*scores: Score) -> dict[str, Score]:
    return dict(zip(METRICS, scores, strict=True))


# Table 1, columns WikiQA. Its rows in order: Pairwise RoBERTa-Base; Joint RoBERTa-Base → FT IE_k; the same with AE_k;
# (Ours) Joint MSPP IE_k → FT IE_k; the same with AE_k. Mean and std. dev. of five runs.
_TABLE_1 = {
    "pairwise": _scores(Score(77.1, 2.1), Score(85.3, 0.9), Score(86.5, 1.0)),
    "joint_ie": _scores(Score(19.7, 1.9), Score(39.4, 1.6), Score(40.3, 1.8)),
    "joint_ae": _scores(Score(18.7, 3.9), Score(39.0, 2.8), Score(39.7, 2.9)),
    "mspp_ie": _scores(Score(82.7, 2.2, True), Score(88.5, 1.5, True), Score(89.0, 1.5, True)),
    "mspp_ae": _scores(Score(81.9, 2.6, True), Score(87.9, 1.4, True), Score(89.0, 1.5, True)),
}

# P@1 from Table 2, MAP and MRR from Table 7 (which repeats the P@1 without std. dev.), columns WikiQA, the same
# rows. The pairwise model re-ranks nothing: its row is that of Table 1.
_TABLES_2_AND_7 = {
    "pairwise": _scores(Score(77.1, 2.1), Score(85.3), Score(86.5)),
    "joint_ie": _scores(Score(24.6, 3.1), Score(49.3), Score(49.7)),
    "joint_ae": _scores(Score(26.4, 2.2), Score(50.6), Score(51.1)),
    "mspp_ie": _scores(Score(82.7, 3.0), Score(88.5), Score(89.0)),
    "mspp_ae": _scores(Score(82.1, 1.1), Score(87.9), Score(88.7)),
}

TABLES = (
    PublishedTable(
        title="Table 1: answer selection, all candidates",
        source="Di Liello et al. 2022, Table 1, WikiQA; RoBERTa-Base, five runs",
        task=TASK,
        data="wikiqa",
        rows=tuple(Row(name, "grouped", LABELS[name], scores) for name, scores in _TABLE_1.items()),
        metrics=METRICS,
        protocol="grouped",
        labels=LABELS,
    ),
    PublishedTable(
        title="Table 2: re-ranking the pairwise model's best candidates",
        source="Di Liello et al. 2022, Tables 2 and 7, WikiQA, top 5; RoBERTa-Base, five runs",
        task=TASK,
        data="wikiqa",
        rows=tuple(
            Row(name, "grouped" if name == "pairwise" else "reranked", LABELS[name], scores)
            for name, scores in _TABLES_2_AND_7.items()
        ),
        metrics=METRICS,
        protocol="reranked",
        labels=LABELS,
        remark="Ours rank the whole list: a positive outside the top counts where the pairwise model put it.",
    ),
)

#: What the paper leaves out.
FROZEN = PublishedTable(
    title="Answer selection without fine-tuning",
    source="",
    task=TASK,
    data="",
    rows=(),
    metrics=METRICS,
    protocol="frozen",
    labels=LABELS,
    remark="The encoders as pre-training left them; candidates by how near their vectors are to the question's.",
)

#: (variant, baseline): what the report compares seed by seed.
COMPARISONS = (("mspp_ie", "joint_ie"), ("mspp_ae", "joint_ae"), ("mspp_ie", "base_ie"), ("joint_ie", "base_ie"))
