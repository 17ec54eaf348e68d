-- Visits per site and hour, dense over the public list of sites: zero where nobody was seen.
-- The weighted column gives every visit of a user with n visits the weight isqrt($weight_l * 2^32 / n), at most
-- 2^16, so that one user's squared weights sum to at most $weight_l * 2^32. Integers: sums are exact in any order.
with weights as (
  select user_id,
    least(65536, cast(floor(sqrt($weight_l * 4294967296 // count(*))) as bigint)) as weight
  from visits
  group by user_id
),
seen as (
  select tower_id, hour, count(*) as original, sum(weight) as weighted
  from visits
  join weights using (user_id)
  group by tower_id, hour
),
kept as (
  select tower_id, hour, count(*) as truncated
  from truncated_visits
  group by tower_id, hour
),
counted as (
  select tower_id, hour, original, 0 as truncated, weighted from seen
  union all
  select tower_id, hour, 0 as original, truncated, 0 as weighted from kept
  union all
  select tower_id, hours.hour, 0 as original, 0 as truncated, 0 as weighted from towers cross join hours
)
select
  tower_id,                                    -- the site
  hour,                                        -- hour of the week, 0 is Monday 00:00
  cast(sum(original) as bigint) as original,   -- visits before truncation
  cast(sum(truncated) as bigint) as truncated, -- visits kept by truncation
  cast(sum(weighted) as bigint) as weighted    -- sum of the integer weights of the visits, in units of 2^-16
from counted
group by tower_id, hour
order by tower_id, hour
