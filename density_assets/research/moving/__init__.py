"""Moving characteristics, and the recovery of trajectories from counts."""
