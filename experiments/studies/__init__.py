"""Studies: the campaigns that have a name."""
