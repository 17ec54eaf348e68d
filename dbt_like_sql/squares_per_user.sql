-- How many users have how many visits, and which sum of squares over sites: what the check of tower totals recomputes.
with at_sites as (
  select user_id, tower_id, count(*) as visits
  from visits
  group by user_id, tower_id
),
users as (
  select user_id, cast(sum(visits) as bigint) as visits, cast(sum(visits * visits) as bigint) as squares
  from at_sites
  group by user_id
)
select
  visits,                                -- visits of one user
  squares,                               -- the squares of the numbers of visits at each site, added up
  cast(count(*) as bigint) as users      -- users who have so many, spread so
from users
group by visits, squares
order by visits, squares
