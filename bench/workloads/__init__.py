"""What benchmarks measure with: worlds, texts, loads and readers."""
