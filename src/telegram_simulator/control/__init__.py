"""The control API: HTTP and JSON, for tests and people,
to make things happen in the world and to see what is true in it.
"""
