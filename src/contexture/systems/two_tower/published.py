"""Chang et al. 2020, *Pre-training Tasks for Embedding-based Large-scale Retrieval*."""

from collections.abc import Mapping

from contexture.reporting.names import DATA
from contexture.reporting.published import PublishedTable, Row, Score
from contexture.tasks.retrieval.config import RECALL_AT

PAPER = "Chang et al. 2020"
#: The gold pair found (footnote 3), or its sentence in any passage.
RECALLS = tuple(f"recall_at_{k}" for k in RECALL_AT)
SENTENCE_RECALLS = tuple(f"sentence_{metric}" for metric in RECALLS)

#: Our variants, in the order of the tables and of the colours.
LABELS = {
    "bm25": "BM25",
    "static_ict+bm25": "Static ICT with BM25",
    "static_ict_bfs_wlp+bm25": "Static ICT+BFS+WLP with BM25",
    "static_ict": "Static ICT",
    "static_ict_bfs_wlp": "Static ICT+BFS+WLP",
    "static_none": "Static, no pre-training",
    "bow_mlp_none": "BoW-MLP, no pre-training",
    "bow_mlp_ict_bfs_wlp": "BoW-MLP, ICT+BFS+WLP",
    "none": "No pre-training",
    "mlm": "MLM",
    "ict_bfs_wlp": "ICT+BFS+WLP",
    "ict": "ICT",
    "bfs": "BFS",
    "wlp": "WLP",
}
TASK = "retrieval"
#: What follows the share trained on in the names of protocols: the set grown by other candidates (Table 6), and the
#: ablation (Table 5).
OPEN, ABLATED = " open", " ablation"
#: (variant, baseline): what the report compares seed by seed.
COMPARISONS = (
    ("ict_bfs_wlp", "none"),
    ("ict_bfs_wlp", "mlm"),
    ("ict_bfs_wlp", "bm25"),
    ("static_ict", "static_none"),
    ("static_ict_bfs_wlp", "static_none"),
    ("bow_mlp_ict_bfs_wlp", "bow_mlp_none"),
    ("static_ict+bm25", "bm25"),
)

_Five = tuple[float, float, float, float, float]

# Table 3, Recall@k on SQuAD. The shares are those trained on; the rest is the test set, so BM25 differs a little.
_TABLE_3: dict[str, dict[str, _Five]] = {
    "1%": {
        "bm25": (41.86, 58.00, 63.64, 74.15, 77.91),
        "bow_mlp_none": (0.14, 0.35, 0.49, 1.13, 1.72),
        "bow_mlp_ict_bfs_wlp": (22.55, 41.03, 49.93, 69.70, 77.01),
        "none": (0.02, 0.06, 0.08, 0.31, 0.54),
        "mlm": (0.18, 0.51, 0.82, 2.46, 3.93),
        "ict_bfs_wlp": (37.43, 61.48, 70.18, 85.37, 89.85),
    },
    "5%": {
        "bm25": (41.87, 57.98, 63.63, 74.17, 77.91),
        "bow_mlp_none": (1.13, 2.68, 3.62, 7.16, 9.55),
        "bow_mlp_ict_bfs_wlp": (26.23, 46.49, 55.68, 75.28, 81.89),
        "none": (0.17, 0.36, 0.54, 1.43, 2.17),
        "mlm": (1.19, 3.59, 5.40, 12.52, 17.41),
        "ict_bfs_wlp": (45.90, 70.89, 78.47, 90.49, 93.64),
    },
    "80%": {
        "bm25": (41.77, 57.95, 63.55, 73.94, 77.49),
        "bow_mlp_none": (19.65, 36.31, 44.19, 62.40, 69.19),
        "bow_mlp_ict_bfs_wlp": (32.24, 55.26, 65.49, 83.37, 88.50),
        "none": (12.32, 26.88, 34.46, 53.74, 61.53),
        "mlm": (27.34, 49.59, 58.17, 74.89, 80.33),
        "ict_bfs_wlp": (58.35, 82.76, 88.44, 95.87, 97.49),
    },
}

# Table 4, Recall@k on Natural Questions.
_TABLE_4: dict[str, dict[str, _Five]] = {
    "1%": {
        "bm25": (4.99, 11.91, 15.41, 24.00, 27.97),
        "bow_mlp_none": (0.28, 0.80, 1.08, 2.02, 2.66),
        "bow_mlp_ict_bfs_wlp": (9.22, 24.98, 33.36, 53.67, 61.30),
        "none": (0.07, 0.19, 0.28, 0.56, 0.85),
        "mlm": (0.18, 0.56, 0.81, 1.95, 2.98),
        "ict_bfs_wlp": (17.31, 43.62, 55.00, 76.59, 82.84),
    },
    "5%": {
        "bm25": (5.03, 11.96, 15.47, 24.04, 28.00),
        "bow_mlp_none": (1.36, 3.77, 4.98, 8.56, 10.77),
        "bow_mlp_ict_bfs_wlp": (11.40, 30.64, 40.63, 62.95, 70.85),
        "none": (0.37, 1.07, 1.40, 2.73, 3.82),
        "mlm": (1.10, 3.42, 4.89, 10.49, 14.37),
        "ict_bfs_wlp": (21.46, 51.03, 62.99, 83.04, 88.05),
    },
    "80%": {
        "bm25": (4.93, 11.52, 14.96, 23.64, 27.77),
        "bow_mlp_none": (9.78, 26.76, 34.16, 50.34, 56.44),
        "bow_mlp_ict_bfs_wlp": (13.58, 37.78, 50.40, 76.11, 82.98),
        "none": (7.49, 20.11, 25.40, 38.26, 43.75),
        "mlm": (16.74, 40.48, 49.53, 67.91, 73.91),
        "ict_bfs_wlp": (30.27, 63.97, 75.85, 91.84, 94.60),
    },
}

# Table 6, Natural Questions with a million candidates more.
_TABLE_6: dict[str, dict[str, _Five]] = {
    "1%": {
        "bm25": (3.70, 9.58, 12.69, 20.27, 23.83),
        "ict": (14.18, 37.36, 48.08, 69.23, 76.01),
        "ict_bfs_wlp": (13.19, 37.61, 48.77, 70.43, 77.20),
    },
    "5%": {
        "bm25": (3.21, 8.62, 11.50, 18.59, 21.78),
        "ict": (17.94, 45.65, 57.11, 76.87, 82.60),
        "ict_bfs_wlp": (17.62, 45.92, 57.75, 78.14, 83.78),
    },
    "80%": {
        "bm25": (3.12, 8.45, 11.18, 18.05, 21.30),
        "ict": (24.89, 57.89, 69.86, 87.67, 91.29),
        "ict_bfs_wlp": (25.41, 59.36, 71.12, 88.25, 91.71),
    },
}


def recall_table(data: str) -> PublishedTable:
    """Table 3 or 4 for the records of `data`; of data that the paper does not have, beside SQuAD's."""
    number, name, by_share = (
        (4, "natural_questions", _TABLE_4) if data == "natural_questions" else (3, "squad", _TABLE_3)
    )
    return PublishedTable(
        title=f"Table {number}: recall on {DATA[name]}",
        source=f"{PAPER}, Table {number}; 12 layers × 768, embeddings of 512",
        task=TASK,
        data=name,
        rows=_rows(by_share),
        metrics=RECALLS,
        labels=LABELS,
        decimals=2,
        remark="R@k: the gold pair of sentence and passage is among the first k of all candidates. "
        "Rows that name no encoder are Transformers; BM25 learns nothing, its rows differ by the questions asked.",
    )


def frozen_table() -> PublishedTable:
    """Towers as pre-training left them, which the paper leaves out."""
    return PublishedTable(
        title="Without fine-tuning",
        source="",
        task=TASK,
        data="",
        rows=(),
        metrics=RECALLS,
        protocol="frozen",
        labels=LABELS,
        remark="The encoders as pre-training left them; all questions are asked.",
    )


def sentence_table() -> PublishedTable:
    """The laxer count, which the paper leaves out."""
    return PublishedTable(
        title="The gold sentence in any passage",
        source="",
        task=TASK,
        data="",
        rows=(),
        metrics=SENTENCE_RECALLS,
        labels=LABELS,
        remark="Also right: another passage that has a sentence of the same text.",
    )


def open_table() -> PublishedTable:
    """Table 6."""
    return PublishedTable(
        title="Table 6: open domain",
        source=f"{PAPER}, Table 6, on Natural Questions with a million candidates more",
        task=TASK,
        data="natural_questions",
        rows=_rows(_TABLE_6, OPEN),
        metrics=RECALLS,
        labels=LABELS,
        decimals=2,
        remark="The candidates of the set and further sentences of the corpus.",
    )


def _rows(by_share: Mapping[str, Mapping[str, _Five]], suffix: str = "") -> tuple[Row, ...]:
    return tuple(
        Row(variant, share + suffix, LABELS[variant], dict(zip(RECALLS, map(Score, recalls), strict=True)))
        for share, variants in by_share.items()
        for variant, recalls in variants.items()
    )


#: Table 5: (layers, variant, size of the embedding) → R@100 on Natural Questions, by share trained on.
ABLATION_SHARES = ("1%", "5%", "10%", "80%")
ABLATION: dict[tuple[int, str, int], tuple[float, float, float, float]] = {
    (4, "ict", 128): (77.13, 82.03, 84.22, 91.88),
    (4, "bfs", 128): (72.99, 78.34, 80.47, 89.82),
    (4, "wlp", 128): (56.94, 68.08, 72.51, 86.15),
    (12, "none", 128): (0.72, 3.88, 6.94, 38.94),
    (12, "mlm", 128): (2.99, 12.21, 22.97, 71.12),
    (12, "ict", 128): (79.80, 85.97, 88.13, 93.91),
    (12, "ict_bfs_wlp", 128): (81.31, 87.08, 89.06, 94.37),
    (12, "ict_bfs_wlp", 256): (81.48, 87.74, 89.54, 94.73),
    (12, "ict_bfs_wlp", 512): (82.84, 88.05, 90.03, 94.60),
}


#: Table 1: pairs of each pre-training task, sub-word tokens of queries and documents together, and their averages.
PAIRS = {
    "ict": {"pairs": 50.2e6, "tokens": 11.2e9, "mean_query_tokens": 30.41, "mean_document_tokens": 193.89},
    "bfs": {"pairs": 17.5e6, "tokens": 3.3e9, "mean_query_tokens": 28.02, "mean_document_tokens": 160.46},
    "wlp": {"pairs": 24.9e6, "tokens": 2.7e9, "mean_query_tokens": 29.42, "mean_document_tokens": 82.14},
}

#: Table 2: distinct questions, distinct (sentence, passage) pairs, tuples of question and gold pair; without the
#: lengths, which are in other units than ours.
REQA = {
    "squad": {"queries": 97_888, "candidates": 101_951, "tuples": 99_024},
    "natural_questions": {"queries": 74_097, "candidates": 239_008, "tuples": 74_097},
}
