"""The endpoints of `/api/v1`, one file per resource.

Each parses its request, calls one feature and returns its response.
"""
