"""What each peer does; run by the Python of its own environment, so nothing but it and the standard library is there."""
