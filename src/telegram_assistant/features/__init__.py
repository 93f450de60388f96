"""What a person can ask for, in the words a person would use."""
