"""The schema's history. Forward only, and each step is safe while the previous release still runs."""
