"""What happened: events, their surface, and the fold. Pure: values in, values out."""
