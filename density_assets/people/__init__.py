"""People who do not exist: invented populations and crowds, for cities without records and for studies."""
