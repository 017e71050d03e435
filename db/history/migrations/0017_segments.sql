CREATE TABLE `segment` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`market_id` integer,
	`layout` integer,
	`name` text NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	`made_ms` integer NOT NULL,
	`is_sealed` integer NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `segment_market` ON `segment` (`market_id`,`layout`);