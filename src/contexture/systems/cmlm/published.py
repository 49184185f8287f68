"""Yang et al. 2021, *Universal Sentence Representation Learning with Conditional Masked Language Model*: English."""

from contexture.reporting.names import TASKS
from contexture.reporting.published import TaskColumn, TaskRow, TaskTable

PAPER = "Yang et al. 2021"
DATA = "senteval"

#: Our variants, in the order of the tables and of the colours.
LABELS = {
    "cmlm": "CMLM, N = 15",
    "cmlm_large": "CMLM, N = 15, large",
    "cmlm_n1": "CMLM, N = 1",
    "cmlm_n5": "CMLM, N = 5",
    "cmlm_n10": "CMLM, N = 10",
    "cmlm_n20": "CMLM, N = 20",
    "cmlm_skip": "CMLM, skip",
    "cmlm_proj": "CMLM, proj",
    "cmlm_mask40": "CMLM, 40 of 256 masked",
    "cmlm_mask60": "CMLM, 60 of 256 masked",
    "cmlm_mask100": "CMLM, 100 of 256 masked",
    "cmlm_max": "CMLM, MAX",
    "cmlm_cls": "CMLM, CLS",
    "mlm": "MLM",
    "mlm_large": "MLM, large",
    "mlm_max": "MLM, MAX",
    "mlm_cls": "MLM, CLS",
    "quick_thoughts": "Quick-Thoughts, Transformer",
    "skip_thought": "Skip-Thought, Transformer",
    "random": "Untrained",
}
#: Accuracy, whose mean over tasks is compared.
ACCURACY = ("mr", "cr", "subj", "mpqa", "sst2", "trec", "mrpc", "sick_e")
SIMILARITY = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sick_r")
#: (variant, baseline): what the report compares seed by seed.
COMPARISONS = (
    ("cmlm", "mlm"),
    ("cmlm", "random"),
    ("cmlm", "quick_thoughts"),
    ("cmlm", "skip_thought"),
    ("cmlm", "cmlm_n1"),
    ("cmlm", "cmlm_skip"),
    ("cmlm", "cmlm_proj"),
    ("mlm", "random"),
)

# MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK-E accuracy; SICK-R Pearson, in hundredths there.
_TABLE_1 = (
    TaskRow("SkipThought", (76.5, 80.1, 93.6, 87.1, 82.0, 92.2, 73.0, 82.3, 0.858)),
    TaskRow("InferSent", (81.6, 86.5, 92.5, 90.4, 84.2, 88.2, 75.8, 84.3, 0.864)),
    TaskRow("USE", (80.1, 85.2, 94.0, 86.7, 86.4, 93.2, 70.1, 82.4, 0.859)),
    TaskRow("QuickThought (CC)", (75.7, 81.9, 94.3, 84.7, 79.7, 83.0, 70.4, 75.0, 0.785), "quick_thoughts"),
    TaskRow("XLNet", (83.6, 82.1, 90.8, 89.0, 89.0, 90.4, 70.1, 82.1, 0.784)),
    TaskRow(
        "English BERT base",
        (81.6, 87.4, 95.2, 87.8, 85.8, 90.6, 71.1, 79.3, 0.805),
        heading="Transformers of base size",
    ),
    TaskRow("English BERT base (CC)", (82.5, 88.5, 95.6, 87.3, 88.0, 91.4, 72.0, 79.3, 0.790), "mlm"),
    TaskRow("SBERT (NLI, base)", (83.6, 89.4, 94.4, 89.9, 88.9, 89.6, 76.0, 79.9, 0.806)),
    TaskRow("CMLM base", (83.6, 89.9, 96.2, 89.3, 88.5, 91.0, 69.7, 82.3, 0.834), "cmlm"),
    TaskRow(
        "English BERT large",
        (84.3, 88.9, 95.7, 86.8, 88.9, 91.4, 71.8, 75.7, 0.770),
        heading="Transformers of large size",
    ),
    TaskRow("English BERT large (CC)", (85.4, 89.0, 95.7, 86.9, 90.5, 91.2, 75.5, 74.3, 0.770), "mlm_large"),
    TaskRow("RoBERTa (large)", (85.2, 90.6, 97.0, 90.0, 89.5, 93.6, 74.2, 75.1, 0.789)),
    TaskRow("SBERT (NLI, large)", (84.8, 90.0, 94.5, 90.3, 90.7, 87.4, 76.0, 74.9, 0.842)),
    TaskRow("CMLM large", (85.6, 89.1, 96.6, 89.3, 91.4, 92.4, 70.0, 82.2, 0.845), "cmlm_large"),
)

# STS12 to STS16, STS-B and SICK-R, Spearman in hundredths there.
_TABLE_2 = (
    TaskRow("Avg. GloVe embeddings", (0.5514, 0.7066, 0.5973, 0.6825, 0.6366, 0.5802, 0.5376)),
    TaskRow("BERT Mean embeddings", (0.3878, 0.5798, 0.5798, 0.6315, 0.6106, 0.4635, 0.5840), "mlm"),
    TaskRow("BERT CLS-vector", (0.2016, 0.3001, 0.2009, 0.3688, 0.3808, 0.1650, 0.4263), "mlm_cls"),
    TaskRow("CMLM base", (0.5820, 0.6107, 0.6167, 0.7332, 0.7488, 0.7660, 0.6480), "cmlm"),
    TaskRow("CMLM large", (0.5902, 0.6168, 0.6280, 0.7416, 0.7564, 0.6939, 0.6656), "cmlm_large"),
)

_TABLE_7 = (
    TaskRow("N = 1", (82.3, 89.7, 95.8, 88.8, 87.6, 90.4, 71.5, 80.8, 0.834), "cmlm_n1"),
    TaskRow("N = 5", (83.7, 90.0, 95.5, 89.0, 89.4, 86.6, 69.5, 79.3, 0.817), "cmlm_n5"),
    TaskRow("N = 10", (83.4, 89.0, 96.1, 88.9, 88.2, 90.2, 68.5, 79.7, 0.815), "cmlm_n10"),
    TaskRow("N = 15", (83.6, 89.9, 96.2, 89.3, 88.5, 91.0, 69.7, 82.3, 0.834), "cmlm"),
    TaskRow("N = 20", (81.1, 89.5, 95.8, 88.9, 85.9, 89.8, 69.7, 80.2, 0.850), "cmlm_n20"),
    TaskRow("skip", (80.3, 86.8, 94.5, 87.5, 84.9, 86.0, 69.2, 72.8, 0.747), "cmlm_skip"),
    TaskRow("proj", (82.6, 89.7, 96.0, 87.3, 87.5, 89.2, 70.5, 81.7, 0.838), "cmlm_proj"),
)

_TABLE_9 = (
    TaskRow("CMLM MAX", (82.8, 88.9, 96.2, 89.2, 87.81, 89.8, 72.1, 82.1, 0.837), "cmlm_max"),
    TaskRow("CMLM MEAN", (83.6, 89.9, 96.2, 89.3, 88.5, 91.0, 69.7, 82.3, 0.834), "cmlm"),
    TaskRow("CMLM CLS", (79.1, 84.3, 94.2, 86.9, 84.9, 82.6, 68.4, 79.3, 0.817), "cmlm_cls"),
    TaskRow("BERT base MAX", (79.6, 85.5, 94.6, 87.3, 83.0, 90.0, 65.6, 75.5, 0.781), "mlm_max"),
    TaskRow("BERT base MEAN", (81.6, 87.4, 95.2, 87.8, 85.8, 90.6, 71.1, 79.3, 0.805), "mlm"),
    TaskRow("BERT base CLS", (79.9, 83.9, 93.8, 85.4, 86.1, 81.0, 69.5, 62.5, 0.488), "mlm_cls"),
)

_TABLE_10 = (
    TaskRow("40", (81.8, 89.3, 95.3, 87.8, 87.0, 90.2, 68.5, 77.5, 0.776), "cmlm_mask40"),
    TaskRow("60", (83.7, 89.5, 95.8, 88.9, 88.0, 90.3, 68.7, 79.5, 0.828), "cmlm_mask60"),
    TaskRow("80", (83.6, 89.9, 96.2, 89.3, 88.5, 91.0, 69.7, 82.3, 0.834), "cmlm"),
    TaskRow("100", (83.2, 89.5, 95.5, 88.7, 88.0, 90.8, 70.0, 81.5, 0.827), "cmlm_mask100"),
)


def transfer_tables(protocol: str) -> tuple[TaskTable, ...]:
    """Table 1, and with the same columns Tables 7, 9 and 10, beside our records of a protocol."""
    columns = (
        *(TaskColumn(task, protocol, "accuracy", TASKS[task]) for task in ACCURACY),
        TaskColumn("sick_r", protocol, "pearson", TASKS["sick_r"], decimals=3),
    )
    deviations = "Standard deviations of its five runs, Table 11: 0.1 to 1.0 for CMLM large."
    tables = (
        ("Table 1: transfer to SentEval's tasks", "Table 1", _TABLE_1, deviations),
        ("Table 7: projections and where they stand", "Table 7", _TABLE_7, "The rows of CMLM base."),
        ("Table 9: pooling", "Table 9, appendix A", _TABLE_9, "The paper's BERT here is the public one."),
        ("Table 10: masked tokens out of 256", "Table 10, appendix B", _TABLE_10, "Ours mask the same share."),
    )
    return tuple(
        TaskTable(title, f"{PAPER}, {where}", DATA, columns, rows, LABELS, remark)
        for title, where, rows, remark in tables
    )


def similarity_table() -> TaskTable:
    """Table 2. The paper does not say how a year's subsets are put together; ours are their mean."""
    columns = tuple(TaskColumn(task, "cosine", "spearman_mean", TASKS[task], decimals=4) for task in SIMILARITY)
    return TaskTable(
        title="Table 2: similarity by cosine, Spearman",
        source=f"{PAPER}, Table 2",
        data=DATA,
        columns=columns,
        rows=_TABLE_2,
        labels=LABELS,
        remark="The paper does not tell how the subsets of a year are put together: ours are their mean, others below.",
    )
