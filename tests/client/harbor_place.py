"""What Harbor's command gets from its user, by Harbor's interfaces: a place to run in, and an agent. Harbor itself imports this file."""

import asyncio
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import httpx
from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult

ENTER = """
set -e
cd "$1"
for each in /*; do
    case $each in /app | /logs | /tests) continue ;; esac
    if [ -L "$each" ]; then cp -P "$each" .; elif [ -d "$each" ]; then mkdir -p ".$each" && mount --rbind "$each" ".$each"; fi
done
exec chroot . bash -c "cd $2; $3"
"""
"""For sh, in a mount namespace of its own: makes the machine's folders visible in root folder 1, goes to its folder 2 and runs 3."""


class Place(BaseEnvironment):
    """A root folder with the machine's programs, where Docker has a container. The Dockerfile's files are copied; nothing is installed."""

    @staticmethod
    def type() -> str:
        return "place"

    def _validate_definition(self) -> None:
        """Reads the Dockerfile, which a task must have."""
        self.steps = [line.split() for line in (self.environment_dir / "Dockerfile").read_text(encoding="utf-8").splitlines()]

    async def start(self, force_build: bool) -> None:  # noqa: ARG002 - Harbor's signature
        self.root = Path(tempfile.mkdtemp(prefix="place-"))
        self.work = "/"
        for step in self.steps:
            match step:
                case ["WORKDIR", folder]:
                    self.work = folder
                    self.inside(folder).mkdir()
                case ["COPY", ".", folder]:
                    await self.upload_dir(self.environment_dir, folder)
                case ["COPY", file, path]:
                    await self.upload_file(self.environment_dir / file, path)
        await self.ensure_dirs(self._mount_targets(writable_only=True))

    async def stop(self, delete: bool) -> None:  # noqa: ARG002
        shutil.rmtree(self.root)

    def inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        shutil.copy(source_path, self.inside(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self.inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self.inside(source_dir), target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,  # noqa: ARG002
    ) -> ExecResult:
        words = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", ENTER, "sh", self.root, cwd or self.work, command)
        variables = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"} | (self._merge_env(env) or {})
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, env=variables, stdout=pipe, stderr=pipe)
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)


class Agent(BaseAgent):
    """Asks a model behind an OpenAI-compatible endpoint once, and writes its code to the file that the task wants."""

    @staticmethod
    def name() -> str:
        return "one-answer"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing has to be installed."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: object) -> None:  # noqa: ARG002
        problem = (await environment.exec("cat problem.py")).stdout
        body = {"model": self.model_name, "messages": [{"role": "user", "content": f"{instruction}\n{problem}"}]}
        async with httpx.AsyncClient(timeout=None) as http:
            told = (await http.post(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", json=body)).json()
        (code,) = re.findall(r"```python\n(.*?)```", told["choices"][0]["message"]["content"], re.DOTALL)
        (self.logs_dir / "answer.py").write_text(code, encoding="utf-8")
        await environment.upload_file(self.logs_dir / "answer.py", "/app/answer.py")
        seen = await environment.exec("env; ls /")
        (self.logs_dir / "seen.txt").write_text(seen.stdout or "", encoding="utf-8")
