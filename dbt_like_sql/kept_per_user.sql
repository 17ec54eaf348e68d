-- How many users keep how many visits in how many different hours: what the check of the cap reads.
with users as (
  select user_id, count(*) as visits, count(distinct hour) as hours
  from truncated_visits
  group by user_id
)
select
  visits,                                -- visits kept of one user
  hours,                                 -- different hours they lie in
  cast(count(*) as bigint) as users      -- users who keep so many in so many
from users
group by visits, hours
order by visits, hours
