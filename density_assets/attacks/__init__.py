"""Attacks on released aggregates: was a person among those who were counted?"""
