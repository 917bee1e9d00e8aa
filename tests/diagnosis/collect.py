"""Makes the compilers' outputs in data/ from the sources in data/sources: `python -m tests.diagnosis.collect`.

Every g++ and the first nvcc on the PATH take part; what an absent one said stays as it was.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "data"
SOURCES = DATA / "sources"
GXX = ("g++-11", "g++-12", "g++-13", "g++-14")
LINKED = {"undefined": ("undefined.cpp",), "twice": ("twice_a.cpp", "twice_b.cpp")}
NVCC_FLAGS = ("-gencode=arch=compute_90a,code=sm_90a", "-Xptxas=-v", "-std=c++17")


def main() -> None:
    """Write DATA/COMPILER/NAME.txt for every source with compiler output."""
    if nvcc := shutil.which("nvcc"):
        release = re.search(r"release (\d+\.\d+)", _said(nvcc, "--version"))
        for path in sorted(SOURCES.glob("*.cu")):
            _write(f"nvcc-{release[1] if release else 'unknown'}", path.stem, _said(nvcc, *NVCC_FLAGS, "-c", path.name, "-o", "/dev/null"))
    for compiler in filter(shutil.which, GXX):
        for path in sorted(SOURCES.glob("*.cpp")):
            if path.stem.split("_")[0] not in LINKED:
                _write(compiler, path.stem, _said(compiler, "-std=c++17", "-fPIC", "-c", path.name, "-o", "/dev/null"))
        for name, files in LINKED.items():
            _write(compiler, name, _linked(compiler, files))


def _linked(compiler: str, files: tuple[str, ...]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        objects = [f"{folder}/{file}.o" for file in files]
        for file, made in zip(files, objects, strict=True):
            _said(compiler, "-fPIC", "-c", file, "-o", made)
        return _said(compiler, "-shared", "-Wl,--no-undefined", *objects, "-o", f"{folder}/x.so").replace(f"{folder}/", "")


def _said(*command: str) -> str:
    done = subprocess.run(command, cwd=SOURCES, env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, capture_output=True, text=True)
    return done.stdout + done.stderr


def _write(folder: str, name: str, said: str) -> None:
    if said.strip():
        (DATA / folder).mkdir(exist_ok=True)
        (DATA / folder / f"{name}.txt").write_text(said, encoding="utf-8")


if __name__ == "__main__":
    main()
