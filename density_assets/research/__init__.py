"""Reproduces the papers and attacks our own releases. Nothing flows from here to a release."""
