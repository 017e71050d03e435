CREATE TABLE `market_event` (
	`id` integer PRIMARY KEY NOT NULL,
	`at_ms` integer NOT NULL,
	`market_id` integer NOT NULL,
	`event` integer NOT NULL,
	`outcome` integer,
	`kind` integer,
	`from_ms` integer,
	`to_ms` integer,
	`reason` text,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `market_event_order` ON `market_event` (`market_id`,`id`);--> statement-breakpoint
CREATE TABLE `spot_moment` (
	`second` integer PRIMARY KEY NOT NULL,
	`next_id` integer NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `trade_moment` (
	`second` integer PRIMARY KEY NOT NULL,
	`next_id` integer NOT NULL,
	`checksum` integer NOT NULL
);
