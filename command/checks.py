"""Checks of the options and of the machine, before anything is judged."""

import argparse
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from command.exits import UsageError

if TYPE_CHECKING:
    from evaluator.machine.devices import Device
    from evaluator.sanitizer.tools import Sanitizer, Wish

MAX_TIMEOUT_S = 86400.0
FEEDBACK_FORMATS = ("markdown",)


def check_options(options: argparse.Namespace) -> None:
    """Check the options by themselves. Raises UsageError."""
    if options.engine != "ray" and (options.ray_address or options.device_kind):
        raise UsageError("--ray-address and --device-kind need --engine ray")
    if options.engine == "ray" and options.cores:
        raise UsageError("--cores is for the CPU of this machine, but --engine ray judges on others; omit --cores")
    if not 0 < options.timeout <= MAX_TIMEOUT_S:
        raise UsageError(f"--timeout is a number of seconds above 0 and at most {MAX_TIMEOUT_S:g}")
    if options.feedback and options.feedback[0] not in FEEDBACK_FORMATS:
        raise UsageError(f"--feedback has no format {options.feedback[0]!r}; use {', '.join(FEEDBACK_FORMATS)}")


def problem_meant(problem: str, known: Mapping[str, Path]) -> str:
    """Return the name of the problem with this name, file or number. Raises UsageError."""
    from evaluator.submission.attribution import Catalogue

    catalogue = Catalogue(known)
    name = catalogue.named(problem)
    if name is None:
        near = catalogue.nearest(problem) or tuple(known)
        raise UsageError(f"there is no problem {problem!r}; known: {', '.join(near[:20])}{' …' if len(near) > 20 else ''}")
    return name


def check_protocol(name: str | None, device: "Device") -> None:
    """Raises UsageError if the device has no such protocol."""
    from evaluator.judge.timing.protocols import UnknownProtocolError, choose

    try:
        choose(name, device.kind)
    except UnknownProtocolError as error:
        raise UsageError(f"--protocol: {error}") from error


def check_cores(cores: Collection[int], device: "Device") -> None:
    """Raises UsageError if calls can't be timed on these cores."""
    if cores and device.kind != "cpu":
        raise UsageError("--cores is for the CPU, but this run judges on a GPU; omit --cores")
    if missing := set(cores) - os.sched_getaffinity(0):
        raise UsageError(f"--cores: this process may not run on {', '.join(map(str, sorted(missing)))}")


def check_headers(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders' absolute paths. Raises UsageError if one can't be used."""
    from evaluator.build.header_folders import HeaderFolderError, all_checked

    try:
        return all_checked(folders)
    except HeaderFolderError as error:
        raise UsageError(f"--headers: {error}") from error


def find_sanitizer(wish: "Wish", device: "Device") -> "Sanitizer":
    """Find the tools. Raises UsageError, SanitizerMissingError."""
    from evaluator.sanitizer.tools import find

    require_gpu_for_sanitizer(device)
    return find(wish)


def require_gpu_for_sanitizer(device: "Device") -> None:
    """Raises UsageError for a CPU."""
    if device.kind != "cuda":
        raise UsageError("--sanitize needs an NVIDIA GPU, but this run judges on the CPU; omit --sanitize")


def why_no_profile(device: "Device") -> str:
    """Why this machine can't profile, as far as known before judging. Empty if no reason is found."""
    from evaluator.nvidia_tools.find import ToolMissingError
    from evaluator.profiler.tool import find

    if device.kind != "cuda":
        return "it needs an NVIDIA GPU, but this run judges on the CPU"
    try:
        find()
    except ToolMissingError as error:
        return f"it needs {error}"
    return ""
