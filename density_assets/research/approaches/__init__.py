"""The three approaches of the chapter side by side: answer queries, publish trajectories, publish the density."""
