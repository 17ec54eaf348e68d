"""Estimating a week from its own measurement and from those of the weeks before."""
