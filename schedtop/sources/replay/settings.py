"""What a Source is asked for, and a recording cannot change any more."""

from __future__ import annotations


class RecordedSettings:
    """The settings of a Source whose Frames have been recorded: they stay as they were."""

    def set_threshold(self, threshold_ns: int) -> None:
        """What was recorded has its threshold."""

    def set_grouping(self, kind: str) -> None:
        """What was recorded has its histograms by group, or none."""

    def set_sampling(self, on: bool) -> None:
        """What was recorded has samples of its run queues, or none."""

    def set_interrupts(self, on: bool) -> None:
        """What was recorded has the times of its interrupts, or none."""

    def set_measuring(self, on: bool) -> None:
        """There are no kernel programs to measure."""
