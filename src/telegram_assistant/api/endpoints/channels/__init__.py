"""Endpoints about channels: following, requests, health and coverage."""
