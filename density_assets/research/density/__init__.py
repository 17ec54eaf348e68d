"""Approach 3, the density itself: how good releases of a week are."""
