"""Commands about channels: following, requests, folders, coverage and activity."""
