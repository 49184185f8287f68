"""Models by name, with a hub that answers, that times out, and that lacks the model."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from contexture.encoders import named
from contexture.encoders.named import find_models, is_hub_reachable


class Hub(BaseHTTPRequestHandler):
    """Has the model own/tiny; does not answer for own/slow."""

    closed = threading.Event()

    def do_GET(self) -> None:
        if self.path.endswith("/slow"):
            self.closed.wait(60)
        known = self.path == "/api/models/own/tiny"
        body = b'{"id": "own/tiny"}' if known else b""
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(named, "HF_HUB_ETAG_TIMEOUT", 0.5)
    is_hub_reachable.cache_clear()
    Hub.closed.clear()
    yield
    Hub.closed.set()
    is_hub_reachable.cache_clear()
    server.shutdown()


def test_all_names_are_accepted_if_the_hub_answers(hub: None) -> None:
    assert find_models("own/tiny+none") == ["own/tiny", "none"]  # sentence-transformers has short names
    assert is_hub_reachable("own/tiny") and is_hub_reachable("none")


def test_a_hub_that_does_not_answer_fails_soon(hub: None) -> None:
    with pytest.raises(ValueError, match=r"own/slow: there is no such folder, and .* cannot be reached \(.+\)"):
        find_models("own/slow")


def test_an_impossible_name_fails(hub: None) -> None:
    with pytest.raises(ValueError, match="a b: there is no such folder, and no model is named so"):
        find_models("a b")


def test_a_path_of_three_parts_is_found_from_a_subfolder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts may be a name on the hub, so that only longer paths are searched in parent folders."""
    model = tmp_path / "models/own/tiny"
    (tmp_path / "notebooks").mkdir()
    model.mkdir(parents=True)
    (model / "encoder.json").touch()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert find_models("models/own/tiny") == [str(model)]
