"""Search: a query becomes a page of ranked posts."""
