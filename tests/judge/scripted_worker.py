"""Runs in the sandbox: answers each request by the script that it carries."""

import socket
import time
from collections.abc import Mapping

from evaluator.worker.protocol import Channel, ChannelClosedError

ENTRY = f"{__name__}:main"


def main(descriptors: Mapping[str, int]) -> int:
    """Follow each request's `script`: a number is a pause in seconds, "hear" waits for a message, another word sends one of that kind."""
    channel = Channel(socket.socket(fileno=descriptors["channel"]), take_descriptors=True)
    while True:
        try:
            request, _ = channel.receive()
            for step in request["script"]:
                if step == "hear":
                    channel.receive()
                elif isinstance(step, str):
                    channel.send({"kind": step, "seq": request["seq"]})
                else:
                    time.sleep(step)
        except ChannelClosedError:
            return 0
