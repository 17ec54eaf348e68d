-- How many users keep how many visits in how many different hours: what the check of the cap reads.
-- The hours of a user are the bits of three numbers, 56 each, so that nothing has to be kept but these; an hour that is
-- none of the week is no bit, and then the check fails.
with numbered as (
  select user_id, hour // 56 as third, cast(1 as bigint) << cast(case when hour >= 0 then hour % 56 end as integer) as bit
  from truncated_visits
),
users as (
  select user_id, count(*) as visits,
    cast(bit_count(bit_or(case when third = 0 then bit else 0 end)) as bigint)
      + bit_count(bit_or(case when third = 1 then bit else 0 end))
      + bit_count(bit_or(case when third = 2 then bit else 0 end)) as hours
  from numbered
  group by user_id
)
select
  visits,                                -- visits kept of one user
  hours,                                 -- different hours they lie in
  cast(count(*) as bigint) as users      -- users who keep so many in so many
from users
group by visits, hours
order by visits, hours
