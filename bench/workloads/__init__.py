"""Worlds, texts, loads and readers for the benches."""
