"""What the pipeline costs on this machine, as ratios within one run."""
