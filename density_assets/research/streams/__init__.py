"""Approach 3: the density as streams of counts, by what the chapter names beside its own scheme."""
