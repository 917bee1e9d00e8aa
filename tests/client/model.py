"""A model behind an OpenAI-compatible endpoint: a real server whose answers are scripted."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tests.command_line import submission

DOUBLE = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = '''
#include <torch/extension.h>

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); i++) out[i] = FACTOR * in[i];
    return y;
}
'''
extension = load_inline(name="twice", cpp_sources=SOURCE, functions=["twice"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
"""
RIGHT = f"```python\n{DOUBLE.replace('FACTOR', '2')}```\n"
DOES_NOT_COMPILE = f"```python\n{DOUBLE.replace('FACTOR', 'factor')}```\n"
WRONG = f"Here it is:\n\n```python\n{submission('x + 3')}```\n"
BORROWED = f"```python\n{submission('x + x')}```\n"
NOTHING = "I can't do that."


@dataclass(frozen=True)
class Reply:
    """One answer to one call."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    held: bool = False
    """Whether it comes only when the model ends."""


Script = Callable[[Sequence[Mapping[str, str]]], Reply]
"""From the messages of a call to the answer."""


def says(text: str | None, finish: str = "stop") -> Reply:
    """A chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    told = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice], "usage": usage}
    return Reply(json.dumps(told).encode())


def refuses(status: int, message: str, **headers: str) -> Reply:
    """An error, in such endpoints' form."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message}}).encode(), status, named)


def in_turn(*replies: Reply) -> Script:
    """One after another, whatever is asked; the last one again and again."""
    left = list(replies)
    lock = threading.Lock()

    def script(_: Sequence[Mapping[str, str]]) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return script


class Model:
    """Answers calls by a script, and records them. A context manager."""

    def __init__(self, script: Script) -> None:
        self.calls: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.ended = threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.calls.append(body)
                model.keys.append(self.headers["Authorization"])
                reply = script(body["messages"]) if self.path == "/v1/chat/completions" else refuses(404, "no such path")
                if reply.held:
                    model.ended.wait()
                self.send_response(reply.status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
