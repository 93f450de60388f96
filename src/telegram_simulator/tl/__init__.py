"""From the world's words to the schema's."""
