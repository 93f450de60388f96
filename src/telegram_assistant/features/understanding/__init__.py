"""Understanding of posts: AI policies, tags, history, cost, and texts that a provider writes."""
