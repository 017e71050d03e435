DROP INDEX `trade_order`;--> statement-breakpoint
ALTER TABLE `trade` ADD `checksum` integer;--> statement-breakpoint
CREATE INDEX `trade_order` ON `trade` (`market_id`,`time_ms`,`id`,`checksum`);--> statement-breakpoint
ALTER TABLE `market` ADD `trade_sum` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `market` ADD `gap_sum` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `market` ADD `checksum` integer;--> statement-breakpoint
CREATE INDEX `market_unsealed` ON `market` (`id`) WHERE checksum IS NULL;--> statement-breakpoint
ALTER TABLE `tail` ADD `checksum` integer;