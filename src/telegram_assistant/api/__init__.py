"""The HTTP door: parses the request, calls one feature, shapes the answer."""
