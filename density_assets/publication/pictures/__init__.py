"""Pictures of tables, for the web UI and for studies."""
