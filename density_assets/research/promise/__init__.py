"""Is the promise kept? Lower bounds on epsilon from attacks on our own mechanisms."""
