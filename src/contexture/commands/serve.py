"""`contexture serve`: search and embed over HTTP, on this machine only."""

import argparse

from contexture.commands.search import add_index_arguments, open_search

#: Other machines cannot connect.
HOST = "127.0.0.1"
MAX_PORT = 65_535


def add_arguments(serve: argparse.ArgumentParser) -> None:
    """Add the options of `contexture serve`."""
    serve.set_defaults(work=main)
    add_index_arguments(serve)
    serve.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1 (%(default)s)")


def main(args: argparse.Namespace) -> None:
    """Answer requests until Ctrl-C."""
    if not 1 <= args.port <= MAX_PORT:
        raise ValueError(f"--port {args.port}: use a number from 1 to {MAX_PORT}")
    import uvicorn

    from contexture.retrieval.server import create_app

    app = create_app(open_search(args))
    print(f"http://{HOST}:{args.port}/docs describes /search and /embed; Ctrl-C ends the server", flush=True)
    uvicorn.run(app, host=HOST, port=args.port, log_level="warning")
