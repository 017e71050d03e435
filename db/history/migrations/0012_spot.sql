CREATE TABLE `spot` (
	`id` integer PRIMARY KEY NOT NULL,
	`coin` text NOT NULL,
	`source` text NOT NULL,
	`window_seconds` integer NOT NULL,
	`time_ms` integer NOT NULL,
	`price` text NOT NULL,
	`received_ms` integer,
	`sequence` integer,
	`dropped` integer,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `spot_series` ON `spot` (`coin`,`source`,`window_seconds`,`time_ms`);--> statement-breakpoint
CREATE INDEX `spot_order` ON `spot` (`coin`,`time_ms`,`id`);