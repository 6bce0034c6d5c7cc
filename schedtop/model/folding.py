"""CPUs folded by what they share: cores, last-level caches, NUMA nodes; and the words for some of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from schedtop.base.cpu_lists import cpus_text
from schedtop.model.host import Topology

FOLDS = {"core": "cores", "cache": "caches", "node": "nodes"}
"""What CPUs may share, from small to large, with the fields of a Topology."""


@dataclass(frozen=True, slots=True)
class Fold:
    """CPUs that share something: `name` is `core 3`, `cache 0` (counted from 0 over the host) or `node 1`."""

    name: str
    cpus: tuple[int, ...]


def fold_cpus(topology: Topology | None, kind: str, ids: Sequence[int]) -> list[Fold]:
    """Some CPUs by one of FOLDS, in the order of their first ones; without a topology they are all together.

    CPUs that the topology does not know are together in one `?`; a core that nothing is known of is its CPU.
    """
    return list(_folds(topology, kind, tuple(ids)))


# They are asked for with every frame, and change when a CPU comes or goes.
@lru_cache(maxsize=32)
def _folds(topology: Topology | None, kind: str, ids: tuple[int, ...]) -> tuple[Fold, ...]:
    numbers = () if topology is None else getattr(topology, FOLDS[kind])
    if not numbers:
        return tuple(Fold(f"cpu {cpu}", (cpu,)) for cpu in ids) if kind == "core" else (Fold("all", ids),)
    # Nodes have numbers of their own; the others are numbered by their first CPU, which says little.
    ordinals = {number: number if kind == "node" else place for place, number in enumerate(dict.fromkeys(numbers))}
    groups: dict[str, list[int]] = {}
    for cpu in ids:
        name = f"{kind} {ordinals[numbers[cpu]]}" if cpu < len(numbers) else f"{kind} ?"
        groups.setdefault(name, []).append(cpu)
    return tuple(Fold(name, tuple(cpus)) for name, cpus in groups.items())


@lru_cache(maxsize=32)
def cpus_words(cpus: tuple[int, ...], topology: Topology | None, ids: tuple[int, ...]) -> str:
    """`CPU 3`, or `CPUs 0-7 (node 0)` if they are all of something among the CPUs `ids`."""
    if len(cpus) == 1:
        return f"CPU {cpus[0]}"
    chosen = tuple(sorted(cpus))
    folds = (fold for kind in reversed(FOLDS) for fold in _folds(topology, kind, ids))
    named = next((fold.name for fold in folds if topology is not None and fold.cpus == chosen), "")
    return f"CPUs {cpus_text(chosen)}" + (f" ({named})" if named else "")
