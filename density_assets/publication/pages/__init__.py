"""The pages of releases: templates, style, behaviour."""
