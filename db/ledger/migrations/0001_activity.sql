CREATE TABLE `activity` (
	`step_ms` integer NOT NULL,
	`server` text NOT NULL,
	`requests` integer NOT NULL,
	`errors` integer NOT NULL,
	`durations` text NOT NULL,
	`problems` text NOT NULL,
	`recorder_started_ms` integer,
	`recorded_rows` integer NOT NULL,
	`recorder_lag_ms` integer,
	PRIMARY KEY(`step_ms`, `server`)
);
--> statement-breakpoint
CREATE INDEX `payment_updated` ON `payment` (`updated_ms`);