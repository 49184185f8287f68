"""Wang et al. 2020, *Cross-Thought for Sentence Encoder Pre-training*."""

from contexture.reporting.published import TaskColumn, TaskRow, TaskTable

PAPER = "Wang et al. 2020"

#: Our variants, in the order of the tables and of the colours.
LABELS = {
    "ct_5_64": "Cross-Thought-5-64",
    "ct_3_64": "Cross-Thought-3-64",
    "ct_1_64": "Cross-Thought-1-64",
    "ct_1_64_cls": "Cross-Thought-1-64, [CLS]",
    "ct_1_64_paper": "Cross-Thought-1-64, paper's objective",
    "ct_1_512": "Cross-Thought-1-512",
    "mlm_64": "Masked LM-1-64",
    "mlm_64_paper": "Masked LM-1-64, paper's objective",
    "mlm_512": "Masked LM-1-512",
    "mlm_160g": "Masked LM (160G)",
    "lm": "Language model",
    "skip_thought": "Skip-Thought, Transformer",
    "ict": "ICT",
    "random": "Untrained",
}
#: (variant, baseline): what the report compares seed by seed.
COMPARISONS = (
    ("ct_1_64", "mlm_64"),
    ("ct_5_64", "mlm_64"),
    ("ct_1_64", "mlm_160g"),
    ("ct_1_64", "random"),
    ("ct_1_64", "mlm_64_paper"),
    ("ct_1_64", "ct_1_64_paper"),
    ("ct_1_64_paper", "mlm_64_paper"),
    ("ct_3_64", "ct_1_64_cls"),
    ("ct_5_64", "ct_3_64"),
    ("ct_5_64", "ct_1_64_cls"),
    ("ct_1_64", "ct_1_512"),
    ("ct_1_512", "mlm_512"),
    ("ct_1_64", "lm"),
    ("ct_1_64", "skip_thought"),
    ("ct_1_64", "ict"),
    ("mlm_64", "random"),
)

# Passage EM, answer EM and F1, supporting facts EM and F1, of HotpotQA in its full-wiki setting.
_TABLE_3 = (
    TaskRow("Cognitive Graph", (57.8, 37.6, 49.4, 23.1, 58.5)),
    TaskRow("Semantic Retrieval", (63.9, 46.5, 58.8, 39.9, 71.5)),
    TaskRow("Recurrent Retriever", (72.7, 60.5, 73.3, 49.3, 76.1)),
    TaskRow("Masked LM-1-64 + reranker + reader", (77.2, 60.9, 73.5, 52.9, 77.3), "mlm_64"),
    TaskRow("Cross-Thought-1-64 + reranker + reader", (80.0, 62.3, 75.1, 54.3, 78.6), "ct_1_64"),
)

# MNLI-m, MNLI-mm, SNLI, QQP accuracy; Quasar-T R@1, HotpotQA R@20; HotpotQA R@20 without fine-tuning.
_TABLE_2 = (
    TaskRow("ICT", (65.2, 65.3, 81.8, 85.0, 40.5, 81.5, 44.9), "ict"),
    TaskRow("Skip-Thought", (65.3, 65.7, 81.5, 84.6, 40.2, 82.0, 37.6), "skip_thought"),
    TaskRow("Language Model", (73.9, 74.2, 84.1, 86.8, 41.9, 81.0, 33.4), "lm"),
    TaskRow("Masked LM-1-512", (74.3, 74.1, 84.9, 87.3, 43.2, 81.5, 10.0), "mlm_512"),
    TaskRow("Masked LM-1-64", (73.8, 74.0, 84.3, 87.0, 42.5, 81.0, 10.0), "mlm_64"),
    TaskRow("Masked LM (160G)", (75.5, 75.7, 86.3, 89.3, 43.5, 87.5, 10.0), "mlm_160g"),
    TaskRow("Cross-Thought-1-512", (74.5, 74.1, 85.0, 87.5, 43.5, 81.7, 10.0), "ct_1_512"),
    TaskRow("Cross-Thought-1-64", (76.2, 76.4, 86.3, 90.0, 47.2, 88.0, 51.9), "ct_1_64"),
    TaskRow("Cross-Thought-3-64", (76.5, 76.6, 86.5, 90.3, 48.2, 88.4, 55.4), "ct_3_64"),
    TaskRow("Cross-Thought-5-64", (76.8, 76.6, 86.8, 90.3, 48.5, 88.9, 56.5), "ct_5_64"),
)


#: Table 2. Its columns are of several sets, each of which is measured where its files are there.
TABLE_2 = TaskTable(
    title="Table 2: sentence vectors alone, for pairs and for ranking",
    source=f"{PAPER}, Table 2",
    data="",
    columns=(
        TaskColumn("pairs", "finetuned", "accuracy", "MNLI-m", "accuracy, fine-tuned", data="mnli_matched"),
        TaskColumn("pairs", "finetuned", "accuracy", "MNLI-mm", "accuracy, fine-tuned", data="mnli_mismatched"),
        TaskColumn("pairs", "finetuned", "accuracy", "SNLI", "accuracy, fine-tuned", data="snli"),
        TaskColumn("pairs", "finetuned", "accuracy", "QQP", "accuracy, fine-tuned", data="qqp"),
        TaskColumn("ranking", "finetuned", "recall_at_1", "Quasar-T R@1", "fine-tuned", data="quasar_t"),
        TaskColumn("ranking", "finetuned", "recall_at_20", "HotpotQA R@20", "fine-tuned", data="hotpotqa"),
        TaskColumn("ranking", "frozen", "recall_at_20", "HotpotQA R@20", "not fine-tuned", data="hotpotqa"),
    ),
    rows=_TABLE_2,
    labels=LABELS,
    remark="The paper fine-tunes on each set's training part and ranks among BM25's first 1,000 (not fine-tuned: 200).",
)


def _of_hotpot(metric: str, name: str, group: str) -> TaskColumn:
    return TaskColumn("multi_hop", "finetuned", metric, name, group, data="hotpotqa")


TABLE_3 = TaskTable(
    title="Table 3: multi-hop questions, answered from what fine-tuned vectors find",
    source=f"{PAPER}, Table 3",
    data="",
    columns=(
        _of_hotpot("passage_em", "EM", "passages"),
        _of_hotpot("answer_em", "EM", "answer"),
        _of_hotpot("answer_f1", "F1", "answer"),
        _of_hotpot("support_em", "EM", "supporting facts"),
        _of_hotpot("support_f1", "F1", "supporting facts"),
    ),
    rows=_TABLE_3,
    labels=LABELS,
    remark="The paper finds paragraphs in all of Wikipedia (full-wiki); ours are found among those of the files.",
)
