"""Which models a name stands for, with a hub that answers, that does not, and that has no such model."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from huggingface_hub import constants

from contexture.encoders import named
from contexture.encoders.named import find_models, is_hub_reachable


class Hub(BaseHTTPRequestHandler):
    """Knows the model own/tiny; has no time for own/slow."""

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


def test_a_hub_that_answers_is_left_to_say_what_it_has(hub: None) -> None:
    assert find_models("own/tiny+none") == ["own/tiny", "none"]  # sentence-transformers has short names of its own
    assert is_hub_reachable("own/tiny") and is_hub_reachable("none")


def test_a_hub_that_does_not_answer_is_not_waited_for(hub: None) -> None:
    with pytest.raises(ValueError, match=r"own/slow: there is no such folder, and .* cannot be asked .* \(.+\)"):
        find_models("own/slow")


def test_what_cannot_be_a_name_is_not_asked_for(hub: None) -> None:
    with pytest.raises(ValueError, match="a b: there is no such folder, and no model is named so"):
        find_models("a b")
