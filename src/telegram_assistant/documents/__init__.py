"""Texts that leave the program: blocks with links, written as plain text, HTML and Telegram's Markdown."""
