"""What tasks, data, protocols and what nobody trains are called; others are called as the records call them."""

from collections.abc import Iterable

#: In the order of the tables.
TASKS = {
    "retrieval": "Passage retrieval",
    "beir": "BEIR",
    "answer_selection": "Answer selection",
    "fact_verification": "Fact verification",
    "pairs": "Sentence pairs",
    "ranking": "Answer ranking",
    "bitext_retrieval": "Bitext retrieval",
    "bitext_mining": "Bitext mining",
    "language_bias": "Language bias",
    "multi_hop": "Multi-hop questions",
    "held_out": "Held-out documents",
    "reviews": "Reviews",
    "sentences": "Sentence tasks",
    "mr": "MR",
    "cr": "CR",
    "subj": "SUBJ",
    "mpqa": "MPQA",
    "sst2": "SST",
    "sst5": "SST-5",
    "trec": "TREC",
    "mrpc": "MSRP",
    "sick_e": "SICK-E",
    "sick_r": "SICK-R",
    "stsb": "STS-B",
    "sts12": "STS12",
    "sts13": "STS13",
    "sts14": "STS14",
    "sts15": "STS15",
    "sts16": "STS16",
    "analogies": "Sentence analogies",
    "image_captions": "Image–caption ranking",
}
DATA = {
    "demo": "the demo's made-up world",
    "wikiqa": "WikiQA",
    "trecqa": "TREC-QA",
    "asnq": "ASNQ",
    "squad": "SQuAD",
    "natural_questions": "Natural Questions",
    "senteval": "SentEval",
    "tatoeba": "Tatoeba",
    "pawsx": "PAWS-X",
    "multi30k": "Multi30k",
    "snli": "SNLI",
    "mnli_matched": "MultiNLI, matched",
    "mnli_mismatched": "MultiNLI, mismatched",
    "xnli": "XNLI",
    "fever": "FEVER",
    "qqp": "Quora question pairs",
    "scitail": "SciTail",
    "amazon": "Amazon reviews",
    "amazon_en": "Amazon reviews, English",
    "amazon_de": "Amazon reviews, German",
    "amazon_fr": "Amazon reviews, French",
    "amazon_jp": "Amazon reviews, Japanese",
    "quasar_t": "Quasar-T",
    "hotpotqa": "HotpotQA",
    "own_text": "your own text",
    "headings": "a heading → its section",
    "links": "a sentence with a link → the page",
    "sentences": "a sentence → the rest of its passage",
    "questions": "your questions",
    "arguana": "ArguAna",
    "fiqa": "FiQA-2018",
    "nfcorpus": "NFCorpus",
    "scidocs": "SCIDOCS",
    "scifact": "SciFact",
    "trec-covid": "TREC-COVID",
    "webis-touche2020": "Touché-2020",
}
#: How encoders are measured. Retrieval has the shares of questions trained on besides.
PROTOCOLS = {
    "claim_only": "frozen, the claim alone",
    "frozen": "frozen",
    "by_attention": "frozen, by attention",
    "by_cosine": "frozen, by cosine",
    "by_dot": "frozen, by inner product",
    "pcr": "frozen, PCR",
    "finetuned": "fine-tuned",
    "grouped": "fine-tuned",
    "reranked": "fine-tuned, re-ranking",
    "max_pool": "pairs, max-pooling",
    "weighted_sum": "pairs, weighted sum",
    "ie_1": "joint, IE_1",
    "ae_1": "joint, AE_1",
    "senteval": "SentEval's protocol",
    "skip_thoughts": "skip-thoughts probe",
    "cosine": "cosine",
    "ratio": "ratio margin",
    "nearest": "nearest",
    "ranking": "ranking",
}
#: Protocols that report one score of a frozen encoder each; the protocol `frozen` reports its default score.
BY_SCORE = ("by_attention", "by_cosine", "by_dot")
#: Between a protocol and the data from which was learned before.
AFTER = "_after_"
#: What costs no training of an encoder: the least that one must beat.
REFERENCES = {
    "bm25": "BM25",
    "word_average": "Average of word vectors",
    "random": "Untrained",
    "published": "Published weights, as they were",
    "word_overlap": "Words in common",
    "majority": "The most frequent label",
    "file_order": "Order of the file",
    "random_order": "Random order",
}


def protocol_name(protocol: str) -> str:
    """How a protocol is called; a share of the questions, "80%", is one that encoders were fine-tuned on.

    `grouped_after_asnq` is what `grouped` is called, after ASNQ, from which was learned before.
    """
    protocol, _, first = protocol.partition(AFTER)
    if first:
        return f"{protocol_name(protocol)}, after {DATA.get(first, first)}"
    return PROTOCOLS.get(protocol, f"fine-tuned on {protocol}" if protocol[:1].isdigit() else protocol)


def in_order(tasks: Iterable[str]) -> list[str]:
    """Tasks in the order of the tables, unknown ones last."""
    found = set(tasks)
    return [*(task for task in TASKS if task in found), *sorted(found - set(TASKS))]
