"""Search and embedding over HTTP. Requests that arrive while others are computed are answered in one batch."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import FastAPI
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from pydantic import BaseModel, Field

from contexture.encoders.models import load_model
from contexture.retrieval.passage_search import ENCODER_DIR, Hit, PassageSearch

#: Texts that are computed at once.
MAX_BATCH = 64
MAX_TEXTS, MAX_CHARACTERS, MAX_HITS = 1_000, 20_000, 1_000

T = TypeVar("T")
R = TypeVar("R")

Text = Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS, pattern=r"\S")]


class Batches(Generic[T, R]):
    """Computes the items of concurrent requests together, in a thread, in the order in which they arrive."""

    def __init__(self, compute: Callable[[Sequence[T]], Sequence[R]]) -> None:
        """`compute` returns a result for each item."""
        self._compute = compute
        self._queue: asyncio.Queue[tuple[T, asyncio.Future[R]]] = asyncio.Queue()

    async def get(self, item: T) -> R:
        """Return the result of an item."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        await self._queue.put((item, future))
        return await future

    async def run(self) -> None:
        """Compute batches until cancelled."""
        while True:
            batch = [await self._queue.get()]
            with suppress(asyncio.QueueEmpty):
                while len(batch) < MAX_BATCH:
                    batch.append(self._queue.get_nowait())
            try:
                results = await asyncio.to_thread(self._compute, [item for item, _ in batch])
            except Exception as error:  # each request reports it
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():  # the client has gone
                    future.set_result(result)


class SearchRequest(BaseModel):
    """A question and the number of passages."""

    question: Text
    k: Annotated[int, Field(ge=1, le=MAX_HITS)] = 5


class EmbedRequest(BaseModel):
    """Texts of one role."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
    role: Literal["query", "document"] = "document"


def create_app(search: PassageSearch, index: Path) -> FastAPI:
    """Return the application with `/search`, `/embed`, and their description at `/docs`."""
    encoder = load_model(index / ENCODER_DIR)

    def search_all(requests: Sequence[SearchRequest]) -> list[list[dict[str, Any]]]:
        # Fused scores depend on the number of passages, so only equal numbers share a search.
        hits: dict[int, list[Hit]] = {}
        for k in {request.k for request in requests}:
            numbers = [number for number, request in enumerate(requests) if request.k == k]
            part = search.search([requests[number].question for number in numbers], k)
            hits |= dict(zip(numbers, part, strict=True))
        return [list(map(asdict, hits[number])) for number in range(len(requests))]

    def embed_all(items: Sequence[tuple[Literal["query", "document"], str]]) -> list[list[float]]:
        vectors: dict[int, list[float]] = {}
        for role in ("query", "document"):
            numbers = [number for number, item in enumerate(items) if item[0] == role]
            if numbers:
                embedded = encoder.embed([items[number][1] for number in numbers], role)
                vectors |= dict(zip(numbers, embedded.tolist(), strict=True))
        return [vectors[number] for number in range(len(items))]

    searches, embeddings = Batches(search_all), Batches(embed_all)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(batches.run()) for batches in (searches, embeddings)]
        yield
        for task in tasks:
            task.cancel()

    app = FastAPI(title="Contexture", description="Search in a text, and vectors of its encoder.", lifespan=lifespan)
    # Web pages cannot reach the server under a name of their own that leads to this machine.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])

    @app.post("/search")
    async def search_passages(request: SearchRequest) -> dict[str, Any]:
        """Return the best passages for a question, as `contexture search --json` prints them."""
        return {"question": request.question, "by": search.method, "hits": await searches.get(request)}

    @app.post("/embed")
    async def embed_texts(request: EmbedRequest) -> dict[str, list[list[float]]]:
        """Return a vector for each text."""
        return {"vectors": await asyncio.gather(*(embeddings.get((request.role, text)) for text in request.texts))}

    return app
