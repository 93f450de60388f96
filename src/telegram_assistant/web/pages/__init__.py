"""The functions behind the pages, by who uses them."""
