"""Stories: posts that tell of the same event, whoever tells it in whichever language."""
