"""Names of metrics, scores on the runs of trainings, the best version of a model, and paths of a moved project."""

import json
from pathlib import Path

import pytest
from kedro.pipeline import Pipeline
from mlflow import MlflowClient
from mlflow.entities.model_registry import ModelVersion, ModelVersionTag

from contexture.pipelines.system import resolve_all
from contexture.pipelines.tracking.inputs import CountedDataset
from contexture.pipelines.tracking.locations import update_locations
from contexture.pipelines.tracking.metrics import (
    Headline,
    find_represented_runs,
    log_trainings,
    measure_headline,
    name_metric,
    name_record,
    score_runs,
    select_best_run,
)
from contexture.pipelines.tracking.models import select_best
from contexture.reporting.provenance import hash_corpus
from contexture.settings import RUN_PARAMETERS
from tests.reporting.make import measured


def open_store(folder: Path) -> tuple[MlflowClient, str]:
    """Return a client of `mlflow.db` in a folder, and its address."""
    folder.mkdir(exist_ok=True)
    uri = f"sqlite:///{folder}/mlflow.db"
    return MlflowClient(uri), uri


def create_experiment(client: MlflowClient, folder: Path) -> str:
    """Create the experiment `contexture` with artifacts where MLflow puts them if it works in `folder`."""
    return client.create_experiment("contexture", str(folder / "mlruns/1"))


def test_names_of_metrics_have_no_blanks_and_say_the_protocol() -> None:
    (record,) = measured("ict", [0.5], "retrieval", "squad", "80%", "recall_at_10", system="two_tower")
    assert name_record(record) == "two_tower.retrieval.squad.recall_at_10.80_percent"
    (record,) = measured("ict", [0.5], "retrieval", "demo", "frozen", "recall_at_10", system="two_tower")
    assert name_record(record) == "two_tower.retrieval.recall_at_10.frozen"
    (record,) = measured("ict", [0.5], "sts14", "senteval/headlines", "cosine", "pearson", system="cmlm")
    assert name_record(record) == "cmlm.sts14.senteval.headlines.pearson.cosine"
    assert (
        name_metric("league", "map", "two_tower: ict", "frozen ablation") == "league.map.two_tower_ict.frozen_ablation"
    )


def test_scores_go_to_the_newest_run_of_a_training(tmp_path: Path, pipelines: dict[str, Pipeline]) -> None:
    """Also to that of another system, whose encoder the league includes."""
    client, _ = open_store(tmp_path)
    experiment = create_experiment(client, tmp_path)
    league = resolve_all(RUN_PARAMETERS.get())["league"]
    (variant, *_) = league.included["two_tower"].config.all_variants
    (run, *_) = league.config.pretrain.runs

    def create_run(system: str, variant: str, seed: int, status: str = "FINISHED") -> str:
        tags = {"system": system, "stage": "pretrain", "variant": variant, "seed": str(seed)}
        run_id: str = client.create_run(experiment, tags=tags).info.run_id
        client.set_terminated(run_id, status)
        return run_id

    old, new = create_run("league", run, 1), create_run("league", run, 1)
    failed, other = create_run("league", run, 1, "FAILED"), create_run("two_tower", variant, 0)
    scores = ("retrieval", "squad", "frozen", "recall_at_10")
    records = [
        *measured(run, [0.25, 0.5, 0.75], *scores, system="league"),
        *measured(f"two_tower: {variant}", [0.5], *scores, system="league"),
        *measured("bm25", [0.875], *scores, system="league"),
        *measured(run, [0.25, 0.125], *scores, system="league", split="dev"),
    ]
    records[1] |= {"held_out_loss": 5.5, "held_out_loss_start": 9.0, "stopped_early": False}
    log_trainings(client, experiment, league, records)
    logged = {run_id: client.get_run(run_id).data.metrics for run_id in (old, new, failed, other)}
    name = "league.retrieval.squad.recall_at_10.frozen"
    losses = {"held_out_loss": 5.5, "held_out_loss_start": 9.0}
    assert logged == {old: {}, new: {name: 50.0} | losses, failed: {}, other: {name: 50.0}}


def test_a_run_stands_for_the_variant_with_its_name_or_the_first_one(pipelines: dict[str, Pipeline]) -> None:
    config = RUN_PARAMETERS.get().systems["mspp"]
    assert {run for name, run in find_represented_runs(config).items() if name != run} == {"mlm", "base"}
    assert find_represented_runs(config) == {
        "pairwise": "mlm", "mspp_ie": "mspp_ie", "mspp_ae": "mspp_ae", "base_ie": "base"
    }  # fmt: skip


def test_the_best_trained_encoder_is_registered(pipelines: dict[str, Pipeline]) -> None:
    mspp = resolve_all(RUN_PARAMETERS.get())["mspp"]
    means = {
        "base_ie": 99.0, "joint_ie": 98.0, "pairwise": 60.0, "mspp_ie": 50.0, "mspp_ae": 70.0, "word_overlap": 100.0
    }  # fmt: skip
    scores = score_runs(mspp.config, Headline("map", means))
    assert scores == {"base": 99.0, "mlm": 60.0, "mspp_ie": 50.0, "mspp_ae": 70.0}  # pairwise stands for mlm
    assert select_best_run(mspp, scores) == "mspp_ae"  # base is untrained
    assert select_best_run(mspp, scores | {"mlm": 70.5}) == "mlm"
    assert select_best_run(mspp, {"base": 99.0}) == "mspp_ie"  # the first main variant


def test_the_headline_is_the_fine_tuned_score_of_the_first_use() -> None:
    scores = ("retrieval", "squad")
    records = [
        *measured("ict", [0.25, 0.5], *scores, "frozen", "recall_at_10", system="two_tower"),
        *measured("ict", [0.5, 0.75], *scores, "80%", "recall_at_10", system="two_tower"),
        *measured("mlm", [0.125], *scores, "80%", "recall_at_10", system="two_tower"),
    ]
    headline = measure_headline("two_tower", records)
    assert headline == ("two_tower.retrieval.squad.recall_at_10.80_percent", {"ict": 62.5, "mlm": 12.5})
    assert measure_headline("two_tower", []) == Headline()


def version(number: int, metric: str | None, score: float = 0.0) -> ModelVersion:
    tags = [] if metric is None else [ModelVersionTag("metric", metric), ModelVersionTag("score", repr(score))]
    return ModelVersion("mspp", str(number), 0, tags=tags)


def test_the_best_version_has_the_highest_score_in_the_metric_of_the_newest() -> None:
    first, second, other = version(1, "a.map", 70.5), version(2, "a.map", 9.5), version(3, "b.map", 80.0)
    assert select_best(second, [second, other, first]) == first
    assert select_best(other, [first, second, other]) == other
    unmeasured, same = version(4, None), version(10, "a.map", 70.5)
    assert select_best(unmeasured, [first, unmeasured]) == unmeasured
    assert select_best(same, [first, second, same]) == same  # the newest one wins ties


def test_the_digest_of_a_text_depends_on_its_files_alone() -> None:
    files = [{"path": f"/a/{name}", "fingerprint": name * 3} for name in "xy"]
    moved = [{"path": "/b", "fingerprint": file["fingerprint"]} for file in reversed(files)]
    digest = hash_corpus({"corpus": files, "inputs": ["/a"]})
    assert hash_corpus({"corpus": moved, "inputs": ["/b"]}) == digest
    assert hash_corpus({"corpus": files[:1]}) != digest
    dataset = CountedDataset("a", "corpus", digest, {"pages_out": 2}).to_dict()
    assert dataset["digest"] == digest[:16] and json.loads(dataset["profile"]) == {"pages_out": 2}


def test_paths_of_what_was_not_copied_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # MLflow's own experiment has artifacts in the working folder
    client, uri = open_store(tmp_path)
    experiment = create_experiment(client, tmp_path / "old")
    copied, left = (client.create_run(experiment).info for _ in range(2))
    (tmp_path / "mlruns/1" / copied.run_id / "artifacts").mkdir(parents=True)
    assert update_locations(uri, tmp_path) == [tmp_path / "old/mlruns"]
    assert client.get_run(copied.run_id).info.artifact_uri == f"{tmp_path}/mlruns/1/{copied.run_id}/artifacts"
    assert client.get_run(left.run_id).info.artifact_uri == left.artifact_uri
    assert client.get_experiment(experiment).artifact_location == f"{tmp_path}/mlruns/1"
    new = client.create_run(experiment).info.artifact_uri
    assert new.startswith(f"{tmp_path}/mlruns/1/")
    assert update_locations(uri, tmp_path) == []


@pytest.mark.parametrize(
    "location", ["{}/chosen", pytest.param("s3://bucket/mlruns/1", marks=pytest.mark.slow), "{}/project/mlruns/1"]
)
def test_a_location_that_was_chosen_stays(location: str, tmp_path: Path) -> None:
    client, uri = open_store(tmp_path / "project")
    experiment = client.create_experiment("contexture", location.format(tmp_path))
    update_locations(uri, tmp_path / "project")
    assert client.get_experiment(experiment).artifact_location == location.format(tmp_path)


def test_a_database_outside_of_the_project_stays(tmp_path: Path) -> None:
    client, uri = open_store(tmp_path / "shared")
    experiment = create_experiment(client, tmp_path / "other")
    (tmp_path / "project").mkdir()
    assert update_locations(uri, tmp_path / "project") == []
    assert update_locations("http://127.0.0.1:5000", tmp_path / "project") == []
    assert client.get_experiment(experiment).artifact_location == f"{tmp_path}/other/mlruns/1"
