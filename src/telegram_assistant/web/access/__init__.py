"""Who may open a page, and how often somebody may try: host names, browsers that were here before,
limits of logins.
"""
