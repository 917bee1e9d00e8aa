"""An application on a real socket, in a thread."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from db.store import Store
from web.app import create_app


@contextmanager
def served(application: FastAPI | Store) -> Iterator[str]:
    """Yields the address, without a slash at its end. A store is served by its pages."""
    application = create_app(application, ["127.0.0.1"]) if isinstance(application, Store) else application
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.02)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
