"""Questions in Russian and English: what they want, and whether a post brings it. No model."""
