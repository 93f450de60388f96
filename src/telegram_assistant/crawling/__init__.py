"""Reads the pages that posts link to. Strangers choose everything here: the URLs, the servers, the pages."""
