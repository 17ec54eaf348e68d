"""Membership inference on aggregates, and the defenses against it (Pyrgelis et al.)."""
