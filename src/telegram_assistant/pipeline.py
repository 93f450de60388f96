"""All stages, in the order of the flow. A new stage is its file, its test, and a line here.

landing -> outbox -> posts.parsed -> post_persistence
"""

from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.streams.stage import Stage

PIPELINE: tuple[Stage, ...] = (post_persistence,)

LAST = post_persistence
"""A post's row leaves the outbox when this stage has passed it."""
