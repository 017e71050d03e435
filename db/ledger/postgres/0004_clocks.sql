-- How far the clock of a process is ahead of that of the database, as of its last heartbeat.
ALTER TABLE heartbeat ADD COLUMN ahead_ms bigint;
