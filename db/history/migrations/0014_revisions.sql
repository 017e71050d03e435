CREATE TABLE `log_meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `moment` (
	`second` integer PRIMARY KEY NOT NULL,
	`next_id` integer NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `revision` (
	`id` integer PRIMARY KEY NOT NULL,
	`at_ms` integer NOT NULL,
	`why` text NOT NULL,
	`condition_id` text NOT NULL,
	`coin` text NOT NULL,
	`timeframe` text NOT NULL,
	`order_ms` integer NOT NULL,
	`revision` integer NOT NULL,
	`added` integer NOT NULL,
	`changed` integer NOT NULL,
	`removed` integer NOT NULL,
	`from_ms` integer,
	`to_ms` integer,
	`facts` text,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `revision_time` ON `revision` (`at_ms`);--> statement-breakpoint
CREATE INDEX `revision_market` ON `revision` (`condition_id`,`id`);