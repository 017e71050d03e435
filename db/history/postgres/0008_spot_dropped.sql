-- The prices that report a loss, which a price that comes later as history makes up for.
CREATE INDEX spot_dropped ON spot (coin, source, window_seconds, time_ms) WHERE dropped > 0;
