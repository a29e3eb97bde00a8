"""``python -m seqattn``: the command line, also for launchers that start modules."""

from seqattn.cli import main

main()
