"""The SELECTs of `dbt_like_sql/`, and what runs them next to the data."""
