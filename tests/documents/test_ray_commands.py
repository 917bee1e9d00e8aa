"""The commands of docs/ray.md, on a cluster of two nodes on this machine. Slurm's script is only parsed."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from command.options import parser
from tests.command_line import PROJECT
from tests.documents.commands import shown
from tests.documents.scene import Scene
from tests.documents.test_commands import files, installs, to_run

pytestmark = pytest.mark.slow(3)

pytest.importorskip("ray")
SMALL = " --num-cpus 2 --object-store-memory 80000000 --disable-usage-stats"
SLURM = re.compile(r"srun|sleep|head=")
DOCUMENT = PROJECT / "docs/ray.md"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Scene(tmp_path, files()) as made:
        # Ray's own sockets need short paths.
        made.environment |= {"RAY_TMPDIR": f"/tmp/ray-{os.getpid()}", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
        try:
            yield made
        finally:
            end_processes(made.environment["RAY_TMPDIR"])


def end_processes(folder: str) -> None:
    """Kill what has the folder in its environment; `ray stop` would end other clusters of this machine, too."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"RAY_TMPDIR={folder}".encode() in (process / "environ").read_bytes() and process.name != str(os.getpid()):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended


@pytest.mark.nightly
def test_the_commands_on_a_cluster(scene: Scene) -> None:
    commands = [each.text for each in shown(DOCUMENT) if each.is_block]
    head, node = (each for each in commands if each.startswith("ray start"))
    (judge,) = (each for each in commands if each.startswith("assay judge"))
    (nodes,) = (each for each in commands if each.startswith("python -c"))
    (drain,) = (each for each in commands if each.startswith("ray drain-node"))
    slurm = [each for each in commands if SLURM.match(each)]
    assert len(commands) == 5 + len(slurm)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    scene.run(head.replace("6379", str(port)) + SMALL + " --include-dashboard false")
    scene.run(node.replace("HEAD:6379", address) + SMALL)
    option = judge.replace("[--ray-address HOST:PORT] [--device-kind NAME]", f"--ray-address {address}")
    assert "1 evaluated: 1 correct" in scene.run(to_run(option) + " --device cpu")
    scene.environment["RAY_ADDRESS"] = address
    ids = re.findall(r"\b[0-9a-f]{56}\b", scene.run(nodes))
    assert len(set(ids)) == 2
    scene.run(drain.replace("HEAD:6379", address).replace("--node-id ID", f"--node-id {ids[1]}"))
    subprocess.run(["bash", "-n", "-c", "\n".join(slurm)], check=True, capture_output=True)
    assert slurm


def test_every_command_and_its_options_exist() -> None:
    from ray.scripts.scripts import cli

    commands = list(shown(DOCUMENT))
    subprocess.run(["bash", "-n", "-c", "\n".join(each.text for each in commands if each.is_block)], check=True, capture_output=True)
    for command in commands:
        words = re.sub(r"[\[\]]", "", command.text).split()
        begin = next((number for number, word in enumerate(words) if word in ("assay", "ray")), len(words))
        if command.text.startswith("pip "):
            installs(command.text)
        elif words[begin:][:2] == ["assay", "judge"]:
            parser().parse_args(words[begin + 2 :])
        elif words[begin:]:
            options = {name for option in cli.commands[words[begin + 1]].params for name in option.opts}
            assert {word for word in words[begin:] if word.startswith("--")} <= options, command
