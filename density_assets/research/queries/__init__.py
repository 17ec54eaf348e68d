"""Approach 1 of the chapter: answer queries. Audits of exact answers, attacks on them, and answers with noise."""
