"""Where things are kept. Connections and sessions never leave this room; one public method is one short transaction."""
