"""Flame graphs: folded stacks as one picture that needs nothing else."""

from schedtop.outputs.flame.svg import flame_svg

__all__ = ["flame_svg"]
