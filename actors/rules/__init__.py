"""What is decided: pure functions over values, one rule a file."""
