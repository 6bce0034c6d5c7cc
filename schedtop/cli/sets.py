"""Commands that compare two sets of files: `schedtop diff monday/*.rec.gz --with tuesday/*.rec.gz`."""

from __future__ import annotations

import click

MARK = "--with"
"""What stands between the two sets."""


class ComparesSets(click.Command):
    """Makes `before` and `after` of the words of its argument `files`: those in front of `--with`, and those behind it.

    Without `--with` there are two words, one each. click alone does not tell which words stood in front of an option.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        places = [place for place, word in enumerate(args) if word == MARK]
        before = self._count(ctx, args[: places[0]]) if places else 1
        rest = super().parse_args(ctx, args)
        files = ctx.params.pop("files", ())
        ctx.params.pop("with", None)
        if ctx.resilient_parsing:
            return rest
        if len(places) > 1:
            ctx.fail("--with stands once, between the two sets")
        if not places and len(files) != 2:
            ctx.fail(f"two recordings are compared, or two sets with {MARK} between them: {len(files)} given")
        ctx.params["before"], ctx.params["after"] = files[:before], files[before:]
        for side, word in ((ctx.params["before"], "in front of"), (ctx.params["after"], "behind")):
            if not side:
                ctx.fail(f"there is no recording {word} {MARK}")
        return rest

    def _count(self, ctx: click.Context, args: list[str]) -> int:
        """How many files these words name, options and their values left out."""
        found = self.make_parser(ctx).parse_args(list(args))[0].get("files")
        # Of no words some versions of click give a mark of their own.
        return len(found) if isinstance(found, tuple | list) else 0
