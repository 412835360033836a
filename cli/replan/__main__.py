"""Lets `python -m replan` do what the command `replan` does."""

from replan.main import main

if __name__ == "__main__":
    main()
