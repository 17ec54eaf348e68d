-- All visits of the week, each user's number cut at $visits_clamp: one user changes the total by at most that.
-- The cut is a constant chosen beforehand, never read off the data.
with users as (
  select least(count(*), $visits_clamp) as visits
  from visits
  group by user_id
)
select
  cast(coalesce(sum(visits), 0) as bigint) as visits -- the clamped number of visits
from users
