"""One asynchronous client per event loop, for libraries that score on their own loops."""

import asyncio
from weakref import WeakKeyDictionary

from assay_client.client import AsyncClient

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()


def loop_client() -> AsyncClient:
    """This event loop's shared client. Address and token come from ASSAY_URL and ASSAY_TOKEN. Raises AssayError."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncClient()
    return _clients[loop]
