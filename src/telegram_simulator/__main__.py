"""`python -m telegram_simulator` is the `tga-sim` command."""

from telegram_simulator.cli import main

main()
