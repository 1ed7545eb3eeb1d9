"""Tools that come with Greenroom: typed functions."""
