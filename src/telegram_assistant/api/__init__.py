"""The HTTP API: parses the request, calls one feature, shapes the answer."""
