"""What to make of noisy numbers: post-processing, which costs no privacy."""
