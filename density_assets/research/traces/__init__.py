"""Traces of people: who was where in which hour, as one sparse matrix, and the files they are read from."""
