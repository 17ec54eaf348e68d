-- Visits: at most one row per user, hour and site, however many events were recorded there in that hour.
select distinct
  user_id,  -- the subscriber identifier
  hour,     -- hour of the week on the city's clocks, 0 is Monday 00:00
  tower_id, -- the site where the device was seen
  user_key  -- a number drawn from user_id alone; it splits the work and orders the sampling
from events
where rejection is null
order by user_key, user_id, hour, tower_id
