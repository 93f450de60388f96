"""The web application: pages for people."""
