"""Approach 2: trajectories that somebody would publish, and what they give away."""
