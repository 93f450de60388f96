"""The wire: framing, handshake, encryption, sessions. Nothing here knows what a channel is."""
