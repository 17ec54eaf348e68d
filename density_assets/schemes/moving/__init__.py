"""Releases with moving characteristics (Chen et al.): every hour, hours that changed, or both."""
