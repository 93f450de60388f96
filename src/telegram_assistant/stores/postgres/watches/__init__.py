"""Watches: their index, matching, previews and alerts."""
