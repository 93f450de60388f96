"""Language models behind one gate: policy, cache, budget, streams, provider, fallback. See gate.py."""
