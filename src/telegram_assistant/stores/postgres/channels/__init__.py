"""Channels: subscriptions, requests to follow, the schedule, coverage, backfills and folders."""
