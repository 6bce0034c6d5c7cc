"""`schedtop` and `python -m schedtop`: small, so that ctrl-c is heard while all the rest is imported."""

import sys


def main() -> int:
    """Runs the command line that the program was started with; returns the exit status."""
    try:
        _end_at_once()
        # Late: ctrl-c must be heard first.
        from schedtop.cli import main as run

        return run()
    except KeyboardInterrupt:  # it came before the handler
        return 130


def _end_at_once() -> None:
    """Has ctrl-c end the program without words, until `Signals` takes it. Where it is ignored it stays so."""
    # Late: only that which ends the program is imported before it can be ended.
    import os
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # No exception: an import may catch it, or say something else in its place.
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))


if __name__ == "__main__":
    sys.exit(main())
