"""The socket that the pages or the service listen on."""

import socket


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.create_server(address[:2], family=family)
    # asyncio does this for sockets that say that they are of TCP, as this one does not. Without it the second half of an answer waits for
    # the first to be acknowledged, for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
