"""Pages that owners manage a tenant with: setup, accounts, AI and cost, members, keys, audit log."""
