"""The stage runtime on Redis Streams: at-least-once delivery, retries, dead letters, trimming and the outbox
relay.

A stage contains none of this. It loads, filters, computes, saves and returns events.
"""
