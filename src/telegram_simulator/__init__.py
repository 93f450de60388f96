"""A local Telegram for tests, load and the offline demo: real MTProto over TCP, which unmodified clients
connect to.

It is not Telegram. It imports nothing of telegram_assistant.
"""
