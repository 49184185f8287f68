"""Workspaces of `contexture adapt`: names, reuse, `contexture list`, and the index that `contexture search` takes."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from kedro.config import OmegaConfigLoader

from contexture.commands import plan as planning
from contexture.commands.main import main
from contexture.commands.plan import make_plan, run_plan
from contexture.commands.workspaces import Workspace, choose_workspace, make_name, name_text
from contexture.pipelines.config_loader import ARGUMENTS
from tests.environments import CONF
from tests.tasks.retrieval.test_passage_search import toy_index

PAGE = "# Boats\n\nThe old boat of the island was painted last summer. It is the only one that still sails in winter.\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a project with two texts, `texts/Boats 2024` and `texts/ferries`."""
    monkeypatch.setattr(planning, "measure_slowness", lambda: 1.0)
    shutil.copytree(CONF, tmp_path / "conf")
    (tmp_path / "kedro.py").write_text("")  # instead of Kedro: a run that succeeds
    for name in ("Boats 2024", "ferries"):
        (tmp_path / "texts" / name).mkdir(parents=True)
        (tmp_path / "texts" / name / "boats.md").write_text(PAGE * 20)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_sources(workspace: Workspace, text: Path) -> None:
    """Write what the stage `sources` of a run writes."""
    workspace.layout.sources_file.parent.mkdir(parents=True)
    workspace.layout.sources_file.write_text(json.dumps({"inputs": [str(text)]}))


def plan(project: Path, text: str = "ferries", **options: Any) -> planning.Plan:
    path = str(project / "texts" / text)
    workspace = choose_workspace(project, path, options.get("name"))
    return make_plan(path, 5, options.get("encoder"), options.get("questions"), options.get("lang"), workspace)


def test_a_workspace_is_named_after_its_text(project: Path) -> None:
    assert choose_workspace(project, "texts/Boats 2024", None).name == "boats-2024"
    assert name_text(str(project / "texts/ferries/boats.md")) == "boats"
    assert name_text(str(project / "texts/ferries/*.md")) == "ferries"
    assert (make_name("Über uns"), make_name("日本")) == ("uber-uns", "text")


def test_names_have_safe_characters(project: Path) -> None:
    for name in ("../up", "A", "a b", "a/b", "-a", ""):
        with pytest.raises(ValueError, match=r"^--name .*: use lower-case letters, digits and hyphens"):
            choose_workspace(project, "texts/ferries", name)


def test_a_workspace_has_one_text(project: Path) -> None:
    workspace = choose_workspace(project, "texts/ferries", None)
    write_sources(workspace, project / "texts/ferries")
    assert choose_workspace(project, "texts/../texts/ferries", None) == workspace
    with pytest.raises(ValueError, match=r"has another text, .*texts/ferries: choose another name, such as --name fer"):
        choose_workspace(project, "texts/Boats 2024", "ferries")


def test_the_run_has_the_folder_and_the_experiment_of_the_workspace(project: Path) -> None:
    params = plan(project, "Boats 2024").command[-1]
    assert params.startswith("workspace=boats-2024,")

    def load(**runtime: Any) -> tuple[str, str]:
        loader = OmegaConfigLoader(str(CONF), runtime_params=runtime, **ARGUMENTS)
        return loader["catalog"]["tokenizer"]["filepath"], loader["mlflow"]["tracking"]["experiment"]["name"]

    assert load(workspace="boats-2024") == ("data/workspaces/boats-2024/04_feature/tokenizer", "contexture/boats-2024")
    assert load() == ("data/04_feature/tokenizer", "contexture")


def test_another_run_repeats_only_what_depends_on_the_questions(project: Path) -> None:
    first = plan(project)
    assert "--from-nodes" not in first.command and "data/workspaces/ferries: new" in first.describe(5)
    write_sources(choose_workspace(project, "texts/ferries", None), project / "texts/ferries")
    assert run_plan(first) == 0
    (project / "own.tsv").write_text("who sails?\tboats.md\n")
    again = plan(project, questions=project / "own.tsv")
    assert again.command[-4:-1] == ["--from-nodes", "text.read_held_out", "--params"]
    assert again.reuses_encoders and "only what depends on the questions is made again" in again.describe(5)
    assert run_plan(again) == 0
    assert not plan(project).parameters.keys() & {"held_out.input"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: (text / "boats.md").write_text(PAGE), "the text has changed"),
        (lambda text: (text / "more.md").write_text(PAGE), "the text has changed"),
        (lambda text: os.utime(text / "boats.md", (1, 1)), "the text has changed"),
        (lambda text: (text.parents[1] / "conf/adapt/parameters/more.yml").write_text("{}"), "conf/ has changed"),
    ],
)
def test_everything_is_made_again_after_a_change(change: Any, reason: str, project: Path) -> None:
    write_sources(choose_workspace(project, "texts/ferries", None), project / "texts/ferries")
    assert run_plan(plan(project)) == 0
    change(project / "texts/ferries")
    planned = plan(project)
    assert not planned.reuses_encoders and f"what differs is made again: {reason}\n" in planned.describe(5)
    assert "the options differ" in plan(project, lang="de").describe(5)


def test_an_unfinished_run_is_not_reused(project: Path) -> None:
    (project / "kedro.py").write_text("import sys; sys.exit(1)")
    write_sources(choose_workspace(project, "texts/ferries", None), project / "texts/ferries")
    assert run_plan(plan(project)) == 1
    planned = plan(project)
    assert not planned.reuses_encoders and "its last run was not finished" in planned.describe(5)


def test_the_list_of_workspaces(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    assert capsys.readouterr().out == "There are no workspaces here: contexture adapt FOLDER makes one.\n"
    workspace = choose_workspace(project, "texts/ferries", None)
    write_sources(workspace, project / "texts/ferries")
    results = workspace.layout.results_dir / "adapt/held_out"
    results.mkdir(parents=True)
    details = {"documents": 1_234, "passages": 5_678, "advice": {"take": "bm25"}}
    (results / "details.json").write_text(json.dumps(details))
    main(["list"])
    head, row = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "name"
    assert row.split() == ["ferries", str(project / "texts/ferries"), "1,234", "5,678", "BM25", "not", "finished"]


def test_search_takes_a_workspace_or_the_index_that_was_built_last(
    project: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    index = toy_index(tmp_path_factory.mktemp("index"))
    layouts = [Workspace(project, name).layout for name in ("boats", "ferries")]
    for age, layout in enumerate(layouts):
        shutil.copytree(index, layout.search_index_dir)
        os.utime(layout.search_index_dir, (1_000 - age, 1_000 - age))
    main(["search", "gulls", "--name", "ferries"])
    chosen = capsys.readouterr()
    assert chosen.out.startswith("1. Gulls") and chosen.err == ""
    main(["search", "gulls"])
    assert capsys.readouterr().err.startswith("searching the workspace boats, which was built last of 2; --name ")
    with pytest.raises(SystemExit, match=r"ferry.*ferries"):
        main(["search", "gulls", "--name", "ferry"])
    with pytest.raises(SystemExit, match=r"unknown workspace '\.\./workspaces/ferries'"):
        main(["search", "gulls", "--name", "../workspaces/ferries"])
