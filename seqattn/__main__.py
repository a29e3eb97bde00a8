"""``python -m seqattn``: the command line, also for launchers that start modules."""

from seqattn.cli import main

if __name__ == "__main__":
    main()
