-- One visit per user, drawn uniformly from all visits of the user's week, counted by site: one user changes one
-- count by one. Dense over the public list of sites. Acs & Castelluccia 2014, §5.4.1.
with placed as (
  select user_id, tower_id,
    (cast(user_key as bigint) * 1226874159 + (cast(site as bigint) * 168 + hour) * 1597334677 + $visit_salt)
      % 2147483579 as x
  from visits
  join towers using (tower_id)
),
cubed as (
  select user_id, tower_id, x * x % 2147483579 * x % 2147483579 as y
  from placed
),
drawn as (
  select user_id, arg_min(tower_id, y * y % 2147483579 * y % 2147483579) as tower_id
  from cubed
  group by user_id
),
counted as (
  select tower_id, 1 as users from drawn
  union all
  select tower_id, 0 as users from towers
)
select
  tower_id,            -- the site
  cast(sum(users) as bigint) as users  -- users whose drawn visit was at this site
from counted
group by tower_id
order by tower_id
