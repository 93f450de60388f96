"""Factories, servers, programs and stand-ins for the outside world, for tests and benches."""
