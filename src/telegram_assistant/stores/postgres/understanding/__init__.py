"""Understanding of posts: results, policies, vocabularies, linked pages and spending."""
