"""People: logins and members, and what each person has read, saved and muted."""
