CREATE TABLE `gap` (
	`market_id` integer NOT NULL,
	`outcome` integer NOT NULL,
	`is_derived` integer NOT NULL,
	`from_ms` integer NOT NULL,
	`to_ms` integer NOT NULL,
	`reason` text NOT NULL,
	PRIMARY KEY(`market_id`, `outcome`, `is_derived`, `from_ms`, `to_ms`, `reason`)
);
--> statement-breakpoint
CREATE TABLE `trade` (
	`id` integer PRIMARY KEY NOT NULL,
	`market_id` integer NOT NULL,
	`time_ms` integer NOT NULL,
	`price` integer NOT NULL,
	`outcome` integer,
	`size` integer,
	`side` integer
);
--> statement-breakpoint
CREATE INDEX `trade_order` ON `trade` (`market_id`,`time_ms`);--> statement-breakpoint
ALTER TABLE `market` ADD `winner_source` text;--> statement-breakpoint
ALTER TABLE `market` ADD `tick_size` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `strike` text;--> statement-breakpoint
ALTER TABLE `market` ADD `final_price` text;--> statement-breakpoint
ALTER TABLE `market` ADD `up_first_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `up_last_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `down_first_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `down_last_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `up_silence_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `down_silence_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `up_verified_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `market` ADD `down_verified_count` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `market` ADD `gap_revision` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `market_timeframe_order` ON `market` (`coin`,`timeframe`,`order_ms`,`condition_id`);--> statement-breakpoint
CREATE INDEX `market_live_order` ON `market` (`coin`,`order_ms`,`condition_id`) WHERE winner IS NULL AND is_closed = 0;--> statement-breakpoint
CREATE INDEX `market_unresolved_order` ON `market` (`coin`,`order_ms`,`condition_id`) WHERE winner IS NULL;--> statement-breakpoint
CREATE INDEX `market_slug` ON `market` (`slug`);