"""Endpoints about watches and alerts."""
