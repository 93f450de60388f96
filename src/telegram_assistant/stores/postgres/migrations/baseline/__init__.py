"""The schema of the first release, by subject: tables, then functions."""
