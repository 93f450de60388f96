"""The feed of a tenant and of a person: posts, read marks, saved posts and muted words."""
