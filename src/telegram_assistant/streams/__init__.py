"""The runtime on Redis Streams: stages, delivery at least once, retries, dead letters, trimming, the outbox relay.

A stage contains none of it. It loads, skips, thinks, saves, tells.
"""
