"""The graph of forwards, links and mentions in Neo4j: optional, and kept in sync with PostgreSQL."""
