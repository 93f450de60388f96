"""`tga demo`, started as people start it."""
