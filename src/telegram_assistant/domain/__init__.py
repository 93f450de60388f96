"""The words of the house: frozen values and pure functions. Nothing here waits, reads or writes."""
