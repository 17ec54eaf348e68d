"""Audits of our own mechanisms: what an attacker who knows everything but one person could really tell."""
