-- Raw records as events of the week: the hour read off the city's wall clock, the antenna mapped to its site,
-- and a reason where a record cannot be used. Clocks are folded and antennas mapped before anything is
-- deduplicated; the other order would let one person count more often than the bound allows.
-- Times without a zone become moments by the clocks they were read off. An hour that those skipped has no moment,
-- and no moment falls into an hour that the city's clocks skip.
with dated as (
  select
    record_user,
    record_tower,
    wanted,
    wall_clock,
    case
      when moment is not null then moment
      when wall_clock < $written_change + $written_before then wall_clock - $written_before
      when wall_clock >= $written_change + $written_after then wall_clock - $written_after
    end as moment
  from records
),
timed as (
  select
    record_user,
    record_tower,
    wanted,
    wall_clock is not null and moment is null as skipped,
    (moment + case when moment < $change then $before else $after end - $monday) / 3600 as hours
  from dated
),
placed as (
  select
    record_user,
    record_tower,
    wanted,
    skipped,
    case when not isnan(hours) and abs(hours) < 9e18 then cast(floor(hours) as bigint) end as hour
  from timed
)
select
  record_user as user_id,                                               -- the subscriber identifier of the record
  user_key(cast(record_user as varchar)) as user_key,                   -- a number made of user_id alone
  hour,                                                                 -- hour of the week on the city's clocks
  antennas.tower_id as tower_id,                                        -- the site the antenna belongs to
  case
    when coalesce(cast(record_user as varchar), '') = '' then 'no user'
    when not wanted then 'left out by visit_where'
    when skipped then 'hour that does not exist'
    when hour is null then 'time not readable'
    when hour < 0 or hour > 167 then 'outside the week'
    when antennas.antenna_id is null then 'unknown tower'
    when antennas.tower_id is null then 'tower outside the city'
  end as rejection                                                      -- why the record is not used, empty if it is
from placed
left join antennas on antennas.antenna_id = placed.record_tower
