"""Small invented files in SentEval's layout, in every format."""

from collections.abc import Mapping
from pathlib import Path

SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"

FILES = {
    "MR/rt-polarity.neg": "dull and grey \nslow .\n",
    "MR/rt-polarity.pos": "a joy\n",
    "SUBJ/subj.objective": "a boy leaves home\n",
    "SUBJ/subj.subjective": "it sings\nit soars\n",
    "CR/custrev.neg": "it broke\n\n",
    "CR/custrev.pos": " \nit works\nlight and quick\n",
    "MPQA/mpqa.neg": "fear\n",
    "MPQA/mpqa.pos": "welcomed\n",
    "SST/binary/sentiment-train": "a fine day\t1\na poor day\t0\n",
    "SST/binary/sentiment-dev": "fine\t1\n",
    "SST/binary/sentiment-test": "poor\t0\n",
    "SST/fine/sentiment-train": "awful\t0\nsuperb\t4\n",
    "SST/fine/sentiment-dev": "so so\t2\n",
    "SST/fine/sentiment-test": "good\t3\n",
    "TREC/train_5500.label": "NUM:date When is noon ?\nABBR:exp What is A : B ?\n",
    "TREC/TREC_10.label": "LOC:city Where is Ash ?\n",
    "MRPC/msr_paraphrase_train.txt": (
        f'{MRPC_HEADER}\n1\t7\t8\tHe said "no.\tHe refused.\n0\t9\t10\tIt rained.\tIt "snowed".\n'
    ),
    "MRPC/msr_paraphrase_test.txt": f"{MRPC_HEADER}\r\n1\t1\t2\tOne.\t1.\r\n",
    "SICK/SICK_train.txt": f"{SICK_HEADER}\n1\tA dog runs\tA dog is running\t4.9\tENTAILMENT\n",
    "SICK/SICK_trial.txt": f"{SICK_HEADER}\n2\tA dog runs\tNo dog runs\t3.5\tCONTRADICTION\n",
    "SICK/SICK_test_annotated.txt": f"{SICK_HEADER}\t\r\n3\tA dog runs\tA man sings\t1\tNEUTRAL\t\r\n",
    "STS/STS12-en-test/STS.input.MSRvid.txt": "A man sings.\tA man is singing.\nA cat.\tA car.\n",
    "STS/STS12-en-test/STS.gs.MSRvid.txt": "5.000\n0.2\n",
    "STS/STS13-en-test/STS.input.OnWN.txt": "to go\tto leave\n",
    "STS/STS13-en-test/STS.gs.OnWN.txt": "3\n",
    "STS/STS13-en-test/STS.input.SMT.txt": "licensed\tsentences\n",
    "STS/STS13-en-test/STS.gs.SMT.txt": "4\n",
    "STS/STS14-en-test/STS.input.deft-forum.txt": "b\tc\n",
    "STS/STS14-en-test/STS.gs.deft-forum.txt": "1.5\n",
    "STS/STS14-en-test/STS.input.OnWN.txt": "d\te\n",
    "STS/STS14-en-test/STS.gs.OnWN.txt": "2\n",
    "STS/STS15-en-test/STS.input.belief.txt": "x\ty\n\t\nv\tw\n",
    "STS/STS15-en-test/STS.gs.belief.txt": "4\n\n\n",
    "STS/STS16-en-test/STS.input.headlines.txt": "p\tq\tsource one\tsource two\nr\ts\t\t\n",
    "STS/STS16-en-test/STS.gs.headlines.txt": "\n3\n",
    "STS/STSBenchmark/sts-train.csv": 'news\tf\t2012\t0001\t2.5\tHe said "go.\tHe went.\n',
    "STS/STSBenchmark/sts-dev.csv": "forum\tf\t2015\t2\t0\tUp.\tDown.\tsomeone\thttp://example.com\n",
    "STS/STSBenchmark/sts-test.csv": "news\tf\t2016\t3\t5.0\tOne.\t1.\n",
}


def write(folder: Path, changed: Mapping[str, str] | None = None) -> Path:
    """Write all of `FILES`, some with other content."""
    for name, content in {**FILES, **(changed or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return folder
