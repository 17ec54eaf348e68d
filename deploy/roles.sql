-- Run once by the superuser of a new server. No passwords here: a person gives each role one, by \password in psql.
create role density_owner login;
create role density_service login;
create role density_dagster login;
create database ledger owner density_owner;
create database dagster_town owner density_dagster;  -- one for each city
revoke connect on database ledger from public;
grant connect on database ledger to density_service;
