-- Visits per site and hour, dense over the public list of sites: zero where nobody was seen.
-- The weighted column gives every visit of a user with n visits the weight isqrt($weight_l * 2^32 / n), at most
-- 2^16, so that one user's squared weights sum to at most $weight_l * 2^32. Integers: sums are exact in any order.
with weights as (
  select user_id,
    least(65536, cast(floor(sqrt($weight_l * 4294967296 // count(*))) as bigint)) as weight
  from visits
  group by user_id
),
counted as (
  select tower_id, hour, 1 as original, 0 as truncated, weight as weighted
  from visits
  join weights using (user_id)
  union all
  select tower_id, hour, 0 as original, 1 as truncated, 0 as weighted
  from truncated_visits
  union all
  select tower_id, hours.hour, 0 as original, 0 as truncated, 0 as weighted
  from towers
  cross join hours
)
select
  tower_id,                     -- the site
  hour,                         -- hour of the week, 0 is Monday 00:00
  cast(sum(original) as bigint) as original,   -- visits before truncation
  cast(sum(truncated) as bigint) as truncated, -- visits kept by truncation
  cast(sum(weighted) as bigint) as weighted    -- sum of the integer weights of the visits, in units of 2^-16
from counted
group by tower_id, hour
order by tower_id, hour
