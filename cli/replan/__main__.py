"""The command `replan`, and `python -m replan`: installs the signal handlers before anything else is imported."""

import faulthandler
import gc
import sys

from replan.commands.frame.signals import leave_at_once, on_signal
from replan.model.garbage_collection import GARBAGE_THRESHOLD


def main() -> None:
    """Run the program."""
    on_signal(leave_at_once)
    if sys.stderr is not None:  # closed by who started it
        faulthandler.enable()  # a crash in a library says where it was called
    gc.set_threshold(GARBAGE_THRESHOLD)
    from replan.main import main as program  # noqa: PLC0415 - signals come first

    program()


if __name__ == "__main__":
    main()
