"""The same work on other projects, each in a virtual environment of its own."""
