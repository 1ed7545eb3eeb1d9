"""Session logs as files: readers that recognise their format, and writers."""
