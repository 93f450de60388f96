"""The world `demo`: a Telegram that a person enjoys and a detector can be measured against."""
