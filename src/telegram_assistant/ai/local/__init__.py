"""Understanding without any key, on this machine: words by morphology, names, text in pictures, vectors.

Each part loads its library when it is first needed, in a thread, and does with less where the library is missing: the program
works with none of them (`pip install 'telegram-assistant[local-ai]'` brings them all).
"""
