"""The world as a browser shows it: public previews of channels."""
