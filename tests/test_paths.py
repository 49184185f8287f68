"""The layout of data/ in code is that of the catalog."""

from pathlib import Path

import yaml

from contexture import paths

CATALOG = yaml.safe_load((Path(__file__).parents[1] / "conf/base/catalog.yml").read_text(encoding="utf-8"))


def catalog_path(name: str) -> Path:
    entry = CATALOG[name]
    return Path((entry.get("filepath") or entry["dataset"]["filepath"]).replace("${_data}", str(paths.data_dir())))


def test_paths_are_those_of_the_catalog() -> None:
    layout = paths.DataLayout()
    models_dir = layout.models_dir / "{system}"
    assert catalog_path("params:{system}.models_dir") == models_dir
    assert catalog_path("params:{system}.pretrained_dir") == paths.pretrained_dir(models_dir)
    assert (
        catalog_path("{system}.{run}-pretrained")
        == paths.encoder_dir(paths.pretrained_dir(models_dir), "{run}", 0).parent
    )
    assert catalog_path("{system}.{task}-finetuned") == paths.task_models_dir(models_dir, "{task}")
    assert catalog_path("{system}.search_index") == layout.search_index_dir
    assert catalog_path("{system}.{task}-results").parent == layout.results_dir / "{system}"
    assert catalog_path("{system}.metrics") == layout.reports_dir / "{system}" / paths.METRICS_FILE
    assert catalog_path("corpus_card") == layout.corpus_card_file
    assert catalog_path("sources") == layout.sources_file
    assert catalog_path("params:{system}.report_dir") == layout.report_file("{system}").parent
    assert paths.DataLayout(paths.data_dir("docs")).models_dir == Path("data/workspaces/docs/06_models")
