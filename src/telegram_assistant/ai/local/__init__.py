"""Local models that need no key: tags by morphology, names, text in pictures, vectors.

Each part loads its library on first use, in a thread, and degrades if the library is missing: the program
works with none of them (`pip install 'telegram-assistant[local-ai]'` installs them all).
"""
