"""`contexture adapt`: what it plans, what it refuses, and that kedro understands the plan."""

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

from contexture.cli import run as run_command
from contexture.commands import plan as planning
from contexture.commands.main import main
from contexture.commands.plan import duration, plan, pooling, published, quoted, run
from contexture.config import Parameters, check_parameters, merged
from tests.environments import CONF, parameters

PAGE = "# Boats\n\nThe old boat of the island was painted last summer. It is the only one that still sails in winter.\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Two pages and a file of JSON lines."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name in ("boats", "ferries"):
        (folder / f"{name}.md").write_text(PAGE * 20 + name)
    (folder / "tickets.jsonl").write_text(json.dumps({"id": "1", "text": PAGE * 10}) + "\n")
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """As much of a published model as is looked at."""
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "modules.json").write_text("[]")
    (folder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    return folder


def plan_text(text: Path, minutes: float = 5, **more: Any) -> planning.Plan:
    return plan(str(text), minutes, more.get("encoder"), more.get("questions"), more.get("lang"))


def understood(planned: planning.Plan) -> tuple[dict[str, Any], Parameters]:
    """What kedro makes of the command, and the parameters of a run with it."""
    *options, params = planned.command
    assert options == ["run", "--env", "own_text", "--pipelines", "own_text", "--params"]
    given = run_command.make_context("run", ["--params", params]).params["params"]
    places = [CONF / "own_text", CONF / "base"]
    return given, check_parameters(merged(parameters("own_text"), given), places, given)


def test_a_text_alone(text: Path) -> None:
    planned = plan_text(text)
    assert planned.parameters == {"corpus.input": str(text)} and planned.training == 0
    given, checked = understood(planned)
    assert given == {"corpus": {"input": str(text)}}
    assert list(checked.systems["own_text"].pretrain.runs) == ["static", "static_none"]
    assert [file.source for file in planned.files] == ["documentation", "documentation", "json_lines"]
    size = sum(file.stat().st_size for file in text.iterdir())
    assert planned.seconds == pytest.approx(60 + 3.5 * size / 1e6)


def test_a_transformer_learns_for_the_minutes_that_are_left(text: Path) -> None:
    planned = plan(str(text), 4, "transformer", None, "en")
    assert planned.seconds == 240 and planned.training == pytest.approx(180, abs=1)
    given, checked = understood(planned)
    assert checked.corpus.lang == "en"
    system = checked.systems["own_text"]
    assert system.pretrain.budget is not None
    assert (system.pretrain.budget.unit, system.pretrain.budget.amount) == ("seconds", round(planned.training))
    assert set(system.pretrain.runs) == {"static", "static_none", "transformer", "transformer_none"}
    learned, before = (system.pretraining(name) for name in ("transformer", "transformer_none"))
    assert learned.encoder == before.encoder == system.encoders["transformer"]
    assert learned.settings.optimizer.learning_rate == 5e-4 and before.recipe.schedule == []
    assert [stage.weights for stage in learned.recipe.schedule] == [{"in_batch_negatives": 1}]
    assert learned.recipe.schedule[0].budget == system.pretrain.budget
    # The static one is trained as before.
    assert [stage.steps for stage in system.pretraining("static").recipe.schedule] == [100]
    assert system.pretraining("static").settings.optimizer.learning_rate == 1e-3
    assert "published" not in json.dumps(given)


def test_a_published_encoder_is_continued(text: Path, model: Path) -> None:
    planned = plan(str(text), 4, str(model), None, None)
    size = sum(file.stat().st_size for file in text.iterdir())
    assert planned.training == pytest.approx(240 - 60 - 3.5 * size / 1e6 - 3 * size / 500 / 60)
    _, checked = understood(planned)
    assert checked.vocabulary.published == str(model)
    system = checked.systems["own_text"]
    assert set(system.pretrain.runs) == {"static", "static_none", "published", "published_none"}
    encoder: Any = system.pretraining("published").encoder
    assert (encoder.init_from, encoder.pooling) == (str(model), "cls")
    assert system.pretraining("published").settings.optimizer.learning_rate == 2e-5


def test_encoders_that_are_not_there(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ValueError, match="this folder holds no published model"):
        published(str(tmp_path))
    for name in (str(tmp_path / "none"), "./none", "~/none", "a/b/c"):
        with pytest.raises(ValueError, match=f"^{name}: there is no such folder"):
            published(name)
    assert published(str(model)) == str(model)


def test_a_model_on_the_hub_is_asked_for_before_any_work(
    text: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=r"^someone/unseen: .* the Hugging Face hub cannot be"):
        plan(str(text), 5, "someone/unseen", None, None)
    # As the hub's client keeps what it has downloaded.
    kept = tmp_path / "hub/models--someone--some-model"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs/main").write_text("a" * 40)
    (kept / "snapshots").mkdir()
    snapshot = model.rename(kept / "snapshots" / ("a" * 40))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ValueError, match=r"^someone/some-model: .* gives no such model"):
        published("someone/some-model")  # which lacks what a Transformer has
    (snapshot / "config.json").write_text("{}")
    planned = plan(str(text), 5, "someone/some-model", None, None)
    encoder: Any = understood(planned)[1].systems["own_text"].pretraining("published").encoder
    assert (encoder.init_from, encoder.pooling) == ("someone/some-model", "cls")
    config = snapshot / "1_Pooling/config.json"
    config.write_text(json.dumps({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}))
    assert pooling("someone/some-model") == pooling(str(snapshot)) == "mean"
    config.unlink()
    assert pooling("someone/some-model") == pooling(str(snapshot)) == "mean"


def test_a_model_that_the_hub_does_not_have(tmp_path: Path) -> None:
    class Hub(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("X-Error-Code", "RepoNotFound")
            super().end_headers()

    with HTTPServer(("127.0.0.1", 0), partial(Hub, directory=str(tmp_path))) as hub:
        Thread(target=hub.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{hub.server_port}"
        environment = os.environ | {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        code = "from contexture.commands.plan import published; published('someone/no-model')"
        done = subprocess.run([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, check=False)
        hub.shutdown()
    assert "ValueError: someone/no-model: the Hugging Face hub gives no such model (404" in done.stderr.decode()


def test_questions_of_another_text_are_refused_where_files_are_documents(text: Path, tmp_path: Path) -> None:
    file = tmp_path / "own questions.tsv"
    file.write_text("who sails?\n")
    with pytest.raises(ValueError, match=r"own questions\.tsv, line 1"):
        plan_text(text, questions=file)
    file.write_text("who sails?\tships.md\nwho rows?\tcanoes.md\n")
    planned = plan_text(text, questions=file)  # a line of JSON may be called so
    assert understood(planned)[1].sources["held_out"].input == str(file)
    (text / "tickets.jsonl").unlink()
    with pytest.raises(ValueError, match=r"questions\.tsv: .*'canoes\.md', 'ships\.md'; .* is 'boats\.md'$"):
        plan_text(text, questions=file)
    for known in ("boats.md", "en:boats.md", "boats.md#3"):
        file.write_text(f"who sails?\t{known}\nwho rows?\t{known}\n")
        assert "\nAsked     2 questions of your own\nThen " in plan_text(text, questions=file).describe(5)
        file.write_text(f"who sails?\t{known}\nwho rows?\tdocs/ferry.md\n")
        said = plan_text(text, questions=file).describe(5)
        assert f"{file}: unknown document 'docs/ferry.md'; the closest match is 'ferries.md'\nThen " in said


def test_questions_take_time(text: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.tsv"
    file.write_text("".join(f"who sails boat {n}?\tboats.md\n" for n in range(10_000)))
    alone = plan_text(text).seconds
    assert plan_text(text, questions=file).seconds == pytest.approx(alone + 30)
    with pytest.raises(ValueError, match=r"about 2 minutes.*--minutes 2"):
        plan_text(text, 1.2, questions=file)


def test_names_are_no_codes_of_languages(text: Path) -> None:
    for lang in ("english", "d e", "", "e", "en-"):
        with pytest.raises(ValueError, match=f"^--lang {lang}: "):
            plan_text(text, lang=lang)
    for lang in ("de", "deu", "en-GB"):
        assert plan_text(text, lang=lang).files[0].lang == lang


def test_too_little_time(text: Path) -> None:
    for minutes, encoder, needed in ((0.5, None, "60 seconds"), (1.2, "transformer", "2 minutes")):
        with pytest.raises(ValueError, match=f"about {needed} .* and {minutes} minutes are given: --minutes 2, or"):
            plan_text(text, minutes, encoder=encoder)
    plan_text(text, 2)
    assert plan_text(text, 2, encoder="transformer").training > 30


def test_compressed_text_takes_longer(text: Path) -> None:
    (file,) = plan_text(text / "boats.md").files
    plain = planning.reading(file)
    packed = planning.reading(type(file)(**(vars(file) | {"path": f"{file.path}.bz2"})))
    assert (plain, packed) == pytest.approx((3.5 * file.bytes / 1e6, 7.5 * file.bytes / 1e6))


def test_durations() -> None:
    texts = ["0 seconds", "89 seconds", "2 minutes", "2 minutes", "60 minutes"]
    assert [duration(seconds) for seconds in (0.4, 89, 90, 149, 3600)] == texts


@pytest.mark.parametrize(
    "name", ["notes #2", "a: b", "a=b", "{a}", "it's", 'the "old"', " end ", "[1]", "ünï", "- a", "a,b"]
)
def test_every_name_comes_through_the_command_line(name: str, text: Path) -> None:
    place = text.rename(text.with_name(name))
    given, checked = understood(plan(str(place), 5, None, None, "no"))  # Norwegian is no boolean
    assert given["corpus"] == {"input": str(place), "lang": "no"}
    assert checked.corpus.input == str(place) and checked.corpus.lang == "no"


def test_what_needs_no_quotes_has_none() -> None:
    assert (quoted("/a/b c.md"), quoted("de"), quoted("no"), quoted("/a #b")) == ("/a/b c.md", "de", '"no"', '"/a #b"')


def test_the_command_says_the_plan(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["adapt", str(text), "--plan", "--minutes", "2.5", "--encoder", "transformer"])
    said = capsys.readouterr().out
    assert said.startswith("Text      2 files of documentation (en), 1 file of json lines (en); 0.0 MB\n")
    assert "one of layers for 90 seconds\n" in said and "about 2 minutes, of 2.5 minutes\n" in said
    assert "kedro run --env own_text --pipelines own_text --params " in said and f"corpus.input={text}," in said
    (text / "tickets.jsonl").unlink()
    few = plan_text(text).describe(5)
    assert "about 60 seconds" in few and "one of layers" not in few
    assert "that is little" in few and "that is little" not in said  # a file of JSON lines has many
    for number in range(48):
        (text / f"{number}.md").write_text(PAGE)
    assert "that is little" not in plan_text(text).describe(5)


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf", "0.1"])
def test_minutes_that_are_none(minutes: str, text: Path) -> None:
    with pytest.raises(SystemExit, match=r"^contexture adapt: .*--minutes"):
        main(["adapt", str(text), "--minutes", minutes])
    with pytest.raises(SystemExit, match=r"^contexture adapt: .*no such file or folder"):
        main(["adapt", str(text / "none")])


def test_it_runs_in_the_folder_of_the_project(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="there is no conf/own_text here or above: go to the folder of the project"):
        run(planned)
    inside = tmp_path / "project/docs"
    inside.mkdir(parents=True)
    (tmp_path / "project/conf/own_text").mkdir(parents=True)
    # Another kedro, which says what it is told, and where.
    (tmp_path / "project/kedro.py").write_text(
        "import pathlib, sys\npathlib.Path('told').write_text('\\n'.join(sys.argv[1:]))\nsys.exit(3)"
    )
    monkeypatch.chdir(inside)
    assert run(planned) == 3
    assert (tmp_path / "project/told").read_text().split("\n") == planned.command
