"""The available DSLs: those of Assay, and installed plug-ins.

Assay's own are named here, so they work without an installation too. A plug-in is a distribution with an entry point of the group
`assay.dsl`. It is trusted like any installed package. Files in the working folder are never loaded as plug-ins: they may be submissions.
"""

import functools
import importlib
import sys
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path

from evaluator.dsl.plugin import Dsl

GROUP = "assay.dsl"
OWN = ("load_inline", "triton", "cupy", "numba", "tilelang", "cute")
"""Modules of this package, each with a `DSL`."""


class PluginError(Exception):
    """A plug-in that can't be used."""


@functools.cache
def dsls() -> tuple[Dsl, ...]:
    """All DSLs: Assay's own, then plug-ins by name. The first call, before any submission, fixes the list.

    Raises PluginError: without an installed plug-in, its kernels would not count.
    """
    found = {name: importlib.import_module(f"evaluator.dsl.{name}").DSL for name in OWN}
    for distribution, entry in _entries():
        dsl = _load(distribution, entry)
        if dsl.name in found:
            raise PluginError(f"two DSLs have the name {dsl.name}; uninstall one: pip uninstall {distribution.metadata['Name']}")
        found[dsl.name] = dsl
    return tuple(found.values())


def _entries() -> list[tuple[Distribution, EntryPoint]]:
    here = Path.cwd()
    places = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
    found: dict[str, tuple[Distribution, EntryPoint]] = {}
    for distribution in distributions(path=places):
        for entry in distribution.entry_points:
            if entry.group == GROUP:
                found.setdefault(f"{entry.name} {distribution.metadata['Name']}", (distribution, entry))
    return [found[key] for key in sorted(found)]


def _load(distribution: Distribution, entry: EntryPoint) -> Dsl:
    owner = distribution.metadata["Name"]
    try:
        dsl = entry.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise PluginError(f"the DSL {entry.name} of {owner} can't be loaded: {why}; repair it, or pip uninstall {owner}") from error
    if not isinstance(dsl, Dsl) or dsl.name != entry.name:
        raise PluginError(f"the entry point {entry.name} of {owner} is not a Dsl of that name; repair it, or pip uninstall {owner}")
    return dsl
