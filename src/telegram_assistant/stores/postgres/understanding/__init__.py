"""What is understood about posts: results, policies, vocabularies, linked pages and spending."""
