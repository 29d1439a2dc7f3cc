"""`python -m controller.cli`: how the demo starts the other commands."""

from controller.cli import main

main()
