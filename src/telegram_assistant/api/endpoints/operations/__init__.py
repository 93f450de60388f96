"""Endpoints for the operator."""
