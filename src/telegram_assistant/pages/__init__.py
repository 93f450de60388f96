"""Reading the pages that posts link to. Everything here is chosen by strangers: the addresses, the servers, the pages."""
