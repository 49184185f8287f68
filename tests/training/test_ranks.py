"""What processes that were started together tell one another."""

from collections.abc import Iterator

import pytest
from torch.distributed import TCPStore

from contexture.training.ranks import Channel


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """What `torch.distributed.run` tells the first of two processes, and the store that it keeps for them."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": store.port, "TORCHELASTIC_USE_AGENT_STORE": True}
    for name, value in (told | {"RANK": 0, "WORLD_SIZE": 2}).items():
        monkeypatch.setenv(name, str(value))
    yield monkeypatch


def test_a_word_of_the_first_process_comes_to_the_others(told: pytest.MonkeyPatch) -> None:
    first = Channel(2)
    told.setenv("RANK", "1")
    other = Channel(2)
    assert (first.rank, other.rank) == (0, 1)
    first.send("begin")
    assert other.wait() == "begin"


def test_a_second_attempt_does_not_hear_the_first(told: pytest.MonkeyPatch) -> None:
    first = Channel(2)
    first.send("kept")
    told.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    again = Channel(2)
    again.send("begin")
    assert again.wait() == "begin" and first.wait() == "kept"


def test_another_number_of_processes_is_refused(told: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="devices is 8, but 2 processes were started: nodes × processes a node must"):
        Channel(8)
