"""The kernel's types (BTF): whether they are there, with all that the front end looks for."""

from __future__ import annotations

from pathlib import Path

from schedtop.base.finding import Finding
from schedtop.sources.kernel.btf import KERNEL_BTF, Btf, BtfError
from schedtop.sources.kernel.findings.kernel import no_btf
from schedtop.sources.kernel.front_end import btf_front_end


def read_btf(path: Path = KERNEL_BTF) -> tuple[Finding, Btf | None]:
    """Whether there is BTF, and whether it has what we look for."""
    try:
        btf = Btf.of_kernel(path)
        btf_front_end(btf)
    except BtfError as error:
        return no_btf(str(error)), None
    size = path.stat().st_size
    found = f"{size / (1 << 20):.1f} MiB, {len(btf):,} types, all that is read"
    return Finding("btf", "ok", found, details={"path": str(path), "bytes": size, "types": len(btf)}), btf
