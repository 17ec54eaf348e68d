-- How many users have how many visits in the week: what the checks of weights and totals are recomputed from.
with users as (
  select user_id, count(*) as visits
  from visits
  group by user_id
)
select
  visits,                                -- visits of one user
  cast(count(*) as bigint) as users      -- users who have so many
from users
group by visits
order by visits
