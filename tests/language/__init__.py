"""Tests of the words of texts."""
