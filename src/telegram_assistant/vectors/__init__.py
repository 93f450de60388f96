"""Posts by meaning: the vector store behind one protocol, embedded or a server, and what keeps it in step with PostgreSQL."""
