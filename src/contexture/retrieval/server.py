"""Search and embedding over HTTP. Requests that arrive while others are computed are answered in one batch."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from functools import cache
from typing import Annotated, Any, Generic, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, Field

from contexture.encoders.base import TextEncoder
from contexture.encoders.config import Role
from contexture.encoders.models import load_model
from contexture.folders import ReplacedError
from contexture.retrieval.passage_search import ENCODER_DIR, PassageSearch
from contexture.retrieval.passages import check_text

#: Texts that are computed at once.
MAX_BATCH = 64
MAX_TEXTS, MAX_CHARACTERS, MAX_HITS = 1_000, 20_000, 1_000

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")

Text = Annotated[str, Field(max_length=MAX_CHARACTERS), AfterValidator(check_text)]


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
            await self._answer(batch)

    async def _answer(self, batch: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        """Compute a batch; if that raises, compute its items one by one, so that only those that raise fail."""
        try:
            results = await asyncio.to_thread(self._compute, [item for item, _ in batch])
        except Exception as error:
            if len(batch) > 1:
                for request in batch:
                    await self._answer([request])
            elif not batch[0][1].done():
                batch[0][1].set_exception(error)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():  # the client has gone
                future.set_result(result)


def compute_by_group(
    items: Sequence[T], get_key: Callable[[T], K], compute: Callable[[Sequence[T], K], Sequence[R]]
) -> list[R]:
    """Return a result for each item, in order; items with the same key are computed together."""
    keys = [get_key(item) for item in items]
    results: dict[int, R] = {}
    for key in dict.fromkeys(keys):
        numbers = [number for number, other in enumerate(keys) if other == key]
        results |= dict(zip(numbers, compute([items[number] for number in numbers], key), strict=True))
    return [results[number] for number in range(len(items))]


class SearchRequest(BaseModel):
    """A question and the number of passages."""

    question: Text
    k: Annotated[int, Field(ge=1, le=MAX_HITS)] = 5


class EmbedRequest(BaseModel):
    """Texts of one role."""

    texts: Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
    role: Role = "document"


def create_app(search: PassageSearch) -> FastAPI:
    """Return the application with `/search`, `/embed`, and their description at `/docs`."""

    @cache
    def load_encoder() -> TextEncoder:
        """Load the encoder when the first texts are embedded."""
        encoder = load_model(search.folder / ENCODER_DIR)
        search.check_replaced()
        return encoder

    def search_all(requests: Sequence[SearchRequest]) -> list[list[dict[str, Any]]]:
        """Return the hits of each request; only equal `k` share a search, because fused scores depend on it."""

        def search_equal(group: Sequence[SearchRequest], k: int) -> list[list[dict[str, Any]]]:
            hits = search.search([request.question for request in group], k)
            return [list(map(asdict, part)) for part in hits]

        return compute_by_group(requests, lambda request: request.k, search_equal)

    def embed_all(items: Sequence[tuple[Role, str]]) -> list[list[float]]:
        """Return the vector of each text, by its role."""

        def embed_equal(group: Sequence[tuple[Role, str]], role: Role) -> list[list[float]]:
            vectors: list[list[float]] = load_encoder().embed([text for _, text in group], role).tolist()
            return vectors

        return compute_by_group(items, lambda item: item[0], embed_equal)

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

    @app.exception_handler(RequestValidationError)
    async def reject(_: Request, error: RequestValidationError) -> JSONResponse:
        """Describe what is wrong without repeating the input: JSON cannot hold NaN, UTF-8 no half surrogate pair."""
        details = [{key: fault[key] for key in ("type", "loc", "msg")} for fault in error.errors()]
        return JSONResponse({"detail": details}, status_code=422)

    @app.exception_handler(ReplacedError)
    async def report_replaced(_: Request, error: ReplacedError) -> JSONResponse:
        """Say that the server has to be restarted."""
        return JSONResponse({"detail": str(error)}, status_code=503)

    @app.post("/search")
    async def search_passages(request: SearchRequest) -> dict[str, Any]:
        """Return the best passages for a question, as `contexture search --json` prints them."""
        return {"question": request.question, "by": search.method, "hits": await searches.get(request)}

    @app.post("/embed")
    async def embed_texts(request: EmbedRequest) -> dict[str, list[list[float]]]:
        """Return a vector for each text."""
        return {"vectors": await asyncio.gather(*(embeddings.get((request.role, text)) for text in request.texts))}

    return app
