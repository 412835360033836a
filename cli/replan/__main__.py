"""The command `replan`, and `python -m replan`: installs the signal handlers before anything else is imported."""

from replan.commands.frame.signals import leave_at_once, on_signal


def main() -> None:
    """Run the program."""
    on_signal(leave_at_once)
    from replan.main import main as program  # noqa: PLC0415 - signals come first

    program()


if __name__ == "__main__":
    main()
