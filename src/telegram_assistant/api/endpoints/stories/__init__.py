"""Stories, digests and trends over HTTP."""
