"""What a release is: composed of draws, public geography and accounts; signed; registered. It does not know Dagster."""
