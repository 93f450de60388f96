"""What tests and benchmarks share: factories, servers, programs and stand-ins for the outside world."""
