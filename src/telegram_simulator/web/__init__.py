"""What the world looks like in a browser: public previews of channels."""
