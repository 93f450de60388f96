"""`python -m telegram_assistant` is the `tga` command."""

from telegram_assistant.cli import main

main()
