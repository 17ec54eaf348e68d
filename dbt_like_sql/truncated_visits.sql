-- At most one visit per user and hour, then at most $visits_per_user of those, both drawn uniformly.
-- A draw is the order of a keyed number made of the user's own row: an affine map and two cubings modulo the
-- prime 2147483579. It is 2 modulo 3, so cubing is a permutation: no ties within a user, and no product passes
-- 2^63. Nobody's choice depends on anybody else's rows, which is what bounds one person's part of the counts.
-- The two draws use two keys: with one, hours seen at several sites would be kept too often.
-- Acs & Castelluccia 2014, §5.1.
with placed as (
  select user_id, user_key, hour, tower_id,
    (cast(user_key as bigint) * 1226874159 + (cast(site as bigint) * 168 + hour) * 1597334677 + $site_salt)
      % 2147483579 as x
  from visits
  join towers using (tower_id)
),
cubed as (
  select user_id, user_key, hour, tower_id, x * x % 2147483579 * x % 2147483579 as y
  from placed
),
hourly as (
  select user_id, user_key, hour, arg_min(tower_id, y * y % 2147483579 * y % 2147483579) as tower_id
  from cubed
  group by user_id, user_key, hour
),
busy as (
  select user_id, count(*) as hours
  from hourly
  group by user_id
  having count(*) > $visits_per_user
),
contested as (
  select user_id, user_key, hour, tower_id,
    (cast(user_key as bigint) * 1226874159 + hour * 1597334677 + $hour_salt) % 2147483579 as x
  from hourly
  semi join busy using (user_id)
),
ordered as (
  select user_id, user_key, hour, tower_id, x * x % 2147483579 * x % 2147483579 as y
  from contested
),
ranked as (
  select user_id, user_key, hour, tower_id,
    row_number() over (partition by user_id order by y * y % 2147483579 * y % 2147483579) as place
  from ordered
),
kept as (
  select user_id, user_key, hour, tower_id from hourly anti join busy using (user_id)
  union all
  select user_id, user_key, hour, tower_id from ranked where place <= $visits_per_user
)
select
  user_id,  -- the subscriber identifier
  hour,     -- hour of the week, each at most once per user
  tower_id, -- the site kept for that hour
  user_key  -- a number drawn from user_id alone; it splits the work and orders the sampling
from kept
order by user_key, user_id, hour
