"""A small `kedro run` of a system with pairs and tasks in several languages."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipelines.conftest import SMALLEST, check_records, check_report, records, run
from tests.tasks.beir.toys import write_drawn_set as put_beir
from tests.tasks.bitext_retrieval.test_mining import write_part as put_mining
from tests.tasks.reviews.test_task import write_reviews as put_reviews


@pytest.mark.slow
def test_pairs_are_measured_and_reported(spark: SparkSession, make_project: Callable[[], Path], tmp_path: Path) -> None:
    """Frozen and fine-tuned on a user's set, frozen on a set in two languages, and with a missing set."""
    lines = [f"The {n} boats lie in the harbour.\tBoats {n % 7} lie there.\t{n % 2}" for n in range(120)]
    (tmp_path / "dev.txt").write_text("\n".join([*lines, "No\tlabel\t-"]))
    for name in ("train-en", "test-en", "test-de"):
        (tmp_path / "xnli").mkdir(exist_ok=True)
        (tmp_path / "xnli" / f"{name}.tsv").write_text("\n".join(lines))
    params = copy.deepcopy(SMALLEST)
    sets = {"scitail": str(tmp_path / "dev.txt"), "xnli": str(tmp_path / "xnli"), "snli": str(tmp_path / "none")}
    params["pairs"] = {"input": sets}
    tuning = {"finetune": ["scitail"], "steps": 2, "evaluate_every": 1, "precision": "fp32", "train_rows": 50}
    params["mspp"]["tasks"]["pairs"] = tuning
    for part in ("train", "test"):
        put_reviews(tmp_path / "cls", "en", part, 8)
    put_mining(tmp_path / "bucc", "sample", ["Boats lie."], ["Boats lie.", "No."], [(0, 0)])
    put_mining(tmp_path / "bucc", "training", ["The harbour.", "Yes."], ["The harbour."], [(0, 0)])
    params["reviews"] = {"input": str(tmp_path / "cls")}
    params["bitext_retrieval"] = {"input": {"bucc": str(tmp_path / "bucc")}}
    params["beir"] = {"input": {"boats": str(put_beir(tmp_path / "boats")), "fever": str(tmp_path / "none")}}
    params["mspp"]["tasks"] |= {"reviews": {}, "bitext_retrieval": {}, "beir": {"hybrid": ["mspp_ie"]}}
    project = make_project()
    run(project, params)
    table = records(project, "mspp")
    check_records(table, "mspp", {"mspp_ie", "mspp_ae", "joint_ie", "joint_ae", "pairwise", "base_ie"})
    trained = {"mspp_ie", "joint_ie", "pairwise"}  # the others are for answer selection only
    pairs = table[table["task"] == "pairs"]
    assert set(pairs["data"]) == {"scitail", "xnli_de", "xnli_en"} and set(pairs["metric"]) == {"accuracy"}
    protocols = pairs.groupby("protocol")["variant"].agg(set).to_dict()
    assert protocols == {"frozen": trained | {"majority", "word_overlap"}, "finetuned": trained}
    other_tasks = table[table["task"].isin(["reviews", "bitext_mining"])].groupby("data")["variant"].agg(set).to_dict()
    assert other_tasks == {"amazon_en": trained, "bucc_de-en": trained}
    searched = table[table["task"] == "beir"]
    assert set(searched["data"]) == {"boats"} and set(searched["variant"]) == trained | {"bm25", "mspp_ie+bm25"}
    text = check_report(project, "mspp")
    assert "amazon_de is not here" in text and "threshold chosen on sample, tested on training" in text
    assert "Sentence pairs" in text and "by a hash of the texts, are tested" in text and "without label" in text
    assert "Features of a pair: [u, v, " in text and "for all encoders" in text
    assert "snli is not here" in text and "fever is not here" in text
    assert "BEIR: confidence intervals, boats" in text and "documents not there | 0" in text
    card = project / "data/06_models/mspp/finetuned/pairs/mspp_ie/seed-0/scitail/README.md"
    assert "pairs, scitail" in card.read_text()
    task = json.loads((project / "data/03_primary/tasks/pairs/task.json").read_text())
    assert task["sets"] == ["scitail", "xnli"] and task["counts"]["scitail"]["without_label"] == 1
