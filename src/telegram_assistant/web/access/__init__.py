"""Access to pages, and limits for attempts: host names, browsers that were here before,
limits of logins.
"""
