"""Who forwards whom, who links where and who speaks of whom, in Neo4j: optional, and kept in step with PostgreSQL."""
