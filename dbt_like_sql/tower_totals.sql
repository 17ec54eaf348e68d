-- Weighted visits per site over the whole week, dense over the public list of sites: zero where nobody was seen.
-- A user who has b visits at a site, S = sum of b * b over sites, gives it w * b, where w is one weight for all sites,
-- w = isqrt($tower_l * 2^32 / S), at most 2^16. Lemma: the vector w * b has the squared norm w * w * S, and w * w is at
-- most $tower_l * 2^32 / S; so one user changes the totals by at most sqrt($tower_l) * 2^16 in L2. Integers: sums
-- are exact in any order. So is the root: below 2^32, doubles hold every integer and are too dense for a root that
-- is not whole to be rounded up to a whole one; from 2^32 on it is at least 2^16, which is where the weight is cut.
with at_sites as (
  select user_id, tower_id, count(*) as visits
  from visits
  group by user_id, tower_id
),
weights as (
  select user_id,
    least(65536, cast(floor(sqrt($tower_l * 4294967296 // sum(visits * visits))) as bigint)) as weight
  from at_sites
  group by user_id
),
counted as (
  select tower_id, weight * visits as weighted from at_sites join weights using (user_id)
  union all
  select tower_id, 0 as weighted from towers
)
select
  tower_id,                                 -- the site
  cast(sum(weighted) as bigint) as weighted -- sum of the integer weights of all visits at the site, in units of 2^-16
from counted
group by tower_id
order by tower_id
