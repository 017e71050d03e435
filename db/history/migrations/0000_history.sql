CREATE TABLE `batch` (
	`id` text PRIMARY KEY NOT NULL,
	`accepted` integer NOT NULL,
	`duplicates` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `chunk` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`market_id` integer NOT NULL,
	`first_ms` integer NOT NULL,
	`first_id` integer NOT NULL,
	`last_ms` integer NOT NULL,
	`last_id` integer NOT NULL,
	`up_count` integer NOT NULL,
	`down_count` integer NOT NULL,
	`tops` blob NOT NULL,
	`rows` blob NOT NULL,
	`hashes` blob NOT NULL
);
--> statement-breakpoint
CREATE INDEX `chunk_order` ON `chunk` (`market_id`,`last_ms`,`last_id`,`first_ms`,`first_id`,`up_count`,`down_count`);--> statement-breakpoint
CREATE TABLE `market` (
	`id` integer PRIMARY KEY NOT NULL,
	`condition_id` text NOT NULL,
	`coin` text NOT NULL,
	`timeframe` text NOT NULL,
	`source` text NOT NULL,
	`slug` text,
	`question` text,
	`window_start_ms` integer,
	`window_end_ms` integer,
	`winner` text,
	`up_asset_id` text,
	`down_asset_id` text,
	`revision` integer DEFAULT 0 NOT NULL,
	`layout` integer DEFAULT 0 NOT NULL,
	`up_count` integer DEFAULT 0 NOT NULL,
	`down_count` integer DEFAULT 0 NOT NULL,
	`first_ms` integer,
	`last_ms` integer,
	`is_closed` integer DEFAULT 0 NOT NULL,
	`order_ms` integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `market_condition_id_unique` ON `market` (`condition_id`);--> statement-breakpoint
CREATE INDEX `market_order` ON `market` (`coin`,`order_ms`,`condition_id`);--> statement-breakpoint
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `tail` (
	`market_id` integer NOT NULL,
	`time_ms` integer NOT NULL,
	`id` integer NOT NULL,
	`outcome` integer NOT NULL,
	`bid_price` integer NOT NULL,
	`bid_size` integer NOT NULL,
	`ask_price` integer NOT NULL,
	`ask_size` integer NOT NULL,
	`text_length` integer NOT NULL,
	`bit_length` integer NOT NULL,
	`text_crc` integer NOT NULL,
	`frame` blob NOT NULL,
	`source_hash` blob,
	PRIMARY KEY(`market_id`, `time_ms`, `id`)
);
