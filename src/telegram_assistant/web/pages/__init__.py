"""The functions behind the pages, one file per subject."""
