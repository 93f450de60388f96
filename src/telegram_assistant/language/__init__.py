"""Words of Russian and English texts: dictionary forms, names with one key for both alphabets,
and numbers as values. No model, no I/O.
"""
