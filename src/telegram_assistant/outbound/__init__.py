"""Every connection to a server that a person named: the guard of addresses, webhooks and mail."""
