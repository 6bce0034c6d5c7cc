"""`schedtop` and `python -m schedtop`: small, so that ctrl-c is heard while all the rest is imported."""

import os
import sys

# `python -m` puts the current directory in front, where anybody may have put a module of any name. That is too late for
# what Python itself imports before us: -P is for that.
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if __name__ == "__main__" and __spec__ and not sys.flags.safe_path and sys.path[0] != _HERE:
    del sys.path[0]


def main() -> int:
    """Runs the command line that the program was started with; returns the exit status."""
    try:
        _end_at_once()
        # Late, here and below: ctrl-c must be heard first, the priority makes the rest quick, then imports are cheap.
        from schedtop.run.beginning import begin

        begin(sys.argv[1:])
        from schedtop.cli import main as run  # late: as above

        status = run()
    except KeyboardInterrupt:  # it came before the handler
        status = 130
    return _left(status)


def _left(status: int) -> int:
    """Gives the session's priority back. The interpreter's own end would then take long on a host on fire: without it.

    What it would do for us is done before.
    """
    from schedtop.base.session_nice import OWN  # late: as above

    if not OWN.raised:
        OWN.end()  # a thread may be about to raise it
        return status
    import atexit  # late: as above
    import threading  # late: as above

    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # none, or its reader has gone
            status = status or 120  # as the interpreter has it
    OWN.end()
    os._exit(status)


def _end_at_once() -> None:
    """Has ctrl-c end the program without words, until `Signals` takes it. Where it is ignored it stays so."""
    import signal  # late: only that which ends the program is imported before it can be ended

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # No exception: an import may catch it, or say something else in its place.
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(*_: object) -> None:
    try:
        from schedtop.base.session_nice import OWN  # late: as above

        OWN.end()
    finally:
        os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
