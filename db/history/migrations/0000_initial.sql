-- The history of 0.5.0. Each text is as SQLite keeps it in files of 0.5.0, with columns that were added in between: it is compared.
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
, `notes` blob DEFAULT x'00' NOT NULL);--> statement-breakpoint
CREATE INDEX `chunk_order` ON `chunk` (`market_id`,`last_ms`,`last_id`,`first_ms`,`first_id`,`up_count`,`down_count`);
--> statement-breakpoint
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
, `winner_source` text, `tick_size` integer, `strike` text, `final_price` text, `up_first_ms` integer, `up_last_ms` integer, `down_first_ms` integer, `down_last_ms` integer, `up_silence_ms` integer, `down_silence_ms` integer, `up_verified_count` integer DEFAULT 0 NOT NULL, `down_verified_count` integer DEFAULT 0 NOT NULL, `gap_revision` integer DEFAULT 0 NOT NULL, `trade_sum` integer DEFAULT 0 NOT NULL, `gap_sum` integer DEFAULT 0 NOT NULL, `checksum` integer, `settlement_rule` text, `strike_source` text, `strike_ms` integer, `final_price_source` text, `final_price_ms` integer, `fee_schedule` text);--> statement-breakpoint
CREATE UNIQUE INDEX `market_condition_id_unique` ON `market` (`condition_id`);--> statement-breakpoint
CREATE INDEX `market_order` ON `market` (`coin`,`order_ms`,`condition_id`);
--> statement-breakpoint
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
	`source_hash` blob, `checksum` integer, `notes` blob DEFAULT x'00' NOT NULL,
	PRIMARY KEY(`market_id`, `time_ms`, `id`)
);
--> statement-breakpoint
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
, `checksum` integer, `transaction_hash` text, `replaced_by` integer);--> statement-breakpoint
CREATE INDEX `market_timeframe_order` ON `market` (`coin`,`timeframe`,`order_ms`,`condition_id`);--> statement-breakpoint
CREATE INDEX `market_live_order` ON `market` (`coin`,`order_ms`,`condition_id`) WHERE winner IS NULL AND is_closed = 0;--> statement-breakpoint
CREATE INDEX `market_unresolved_order` ON `market` (`coin`,`order_ms`,`condition_id`) WHERE winner IS NULL;--> statement-breakpoint
CREATE INDEX `market_slug` ON `market` (`slug`);
--> statement-breakpoint
CREATE TABLE `coin_total` (
	`coin` text NOT NULL,
	`timeframe` text NOT NULL,
	`source` text NOT NULL,
	`markets` integer NOT NULL,
	`snapshots` integer NOT NULL,
	`first_ms` integer,
	`last_ms` integer, `checksum` integer,
	PRIMARY KEY(`coin`, `timeframe`, `source`)
);
--> statement-breakpoint
CREATE TRIGGER `coin_total_insert` AFTER INSERT ON `market` BEGIN
  INSERT INTO coin_total (coin, timeframe, source, markets, snapshots, first_ms, last_ms)
  VALUES (new.coin, new.timeframe, new.source, 1, new.up_count + new.down_count, new.first_ms, new.last_ms)
  ON CONFLICT (coin, timeframe, source) DO UPDATE SET
    markets = markets + 1, snapshots = snapshots + excluded.snapshots,
    first_ms = min(ifnull(first_ms, excluded.first_ms), ifnull(excluded.first_ms, first_ms)),
    last_ms = max(ifnull(last_ms, excluded.last_ms), ifnull(excluded.last_ms, last_ms));
END;
--> statement-breakpoint
CREATE TRIGGER `coin_total_update` AFTER UPDATE OF `up_count`, `down_count`, `first_ms`, `last_ms` ON `market` BEGIN
  UPDATE coin_total SET
    snapshots = snapshots + new.up_count + new.down_count - old.up_count - old.down_count,
    first_ms = min(ifnull(first_ms, new.first_ms), ifnull(new.first_ms, first_ms)),
    last_ms = max(ifnull(last_ms, new.last_ms), ifnull(new.last_ms, last_ms))
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;--> statement-breakpoint
CREATE INDEX `trade_order` ON `trade` (`market_id`,`time_ms`,`id`,`checksum`);--> statement-breakpoint
CREATE INDEX `market_unsealed` ON `market` (`id`) WHERE checksum IS NULL;
--> statement-breakpoint
CREATE TRIGGER `coin_total_seal_insert` AFTER INSERT ON `coin_total` BEGIN
  UPDATE coin_total SET checksum = (markets * 1000003 + snapshots * 7919 + ifnull(first_ms, 1) * 31 + ifnull(last_ms, 1) * 17) & 281474976710655
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;
--> statement-breakpoint
CREATE TRIGGER `coin_total_seal_update` AFTER UPDATE OF `markets`, `snapshots`, `first_ms`, `last_ms` ON `coin_total` BEGIN
  UPDATE coin_total SET checksum = (markets * 1000003 + snapshots * 7919 + ifnull(first_ms, 1) * 31 + ifnull(last_ms, 1) * 17) & 281474976710655
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;--> statement-breakpoint
CREATE INDEX `market_up_asset` ON `market` (`up_asset_id`);--> statement-breakpoint
CREATE INDEX `market_down_asset` ON `market` (`down_asset_id`);
--> statement-breakpoint
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
);--> statement-breakpoint
CREATE UNIQUE INDEX `spot_series` ON `spot` (`coin`,`source`,`window_seconds`,`time_ms`);--> statement-breakpoint
CREATE INDEX `spot_order` ON `spot` (`coin`,`time_ms`,`id`);
--> statement-breakpoint
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
);--> statement-breakpoint
CREATE INDEX `revision_time` ON `revision` (`at_ms`);--> statement-breakpoint
CREATE INDEX `revision_market` ON `revision` (`condition_id`,`id`);
--> statement-breakpoint
CREATE TABLE `manifest` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`day` text NOT NULL,
	`revision` integer NOT NULL,
	`made_ms` integer NOT NULL,
	`digest` text NOT NULL,
	`previous` text,
	`signature` text NOT NULL,
	`public_key` text NOT NULL,
	`checksum` integer NOT NULL
);--> statement-breakpoint
CREATE UNIQUE INDEX `manifest_day` ON `manifest` (`day`,`revision`);
--> statement-breakpoint
CREATE TABLE `manifest_body` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`body` text NOT NULL
);
--> statement-breakpoint
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
);--> statement-breakpoint
CREATE INDEX `market_event_order` ON `market_event` (`market_id`,`id`);
--> statement-breakpoint
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
--> statement-breakpoint
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
);--> statement-breakpoint
CREATE INDEX `segment_market` ON `segment` (`market_id`,`layout`);
--> statement-breakpoint
CREATE TABLE `evidence` (
	`market_id` integer PRIMARY KEY NOT NULL,
	`said` text NOT NULL,
	`checksum` integer NOT NULL
);
