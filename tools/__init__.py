"""What builds, runs and checks the book; used by the Makefile."""
