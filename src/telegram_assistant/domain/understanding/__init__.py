"""Understanding of posts: policies, tags, spending, linked pages and the text for embeddings."""
