"""The socket that the pages or the service listen on."""

import socket


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on this address and port. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.create_server(address[:2], family=family)
    # asyncio sets this only for sockets with the protocol TCP, which this one does not state. Without it the second half of an answer
    # waits 40 ms for the first one's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
