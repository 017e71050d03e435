ALTER TABLE `market` ADD `taker_delay_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `order_age_ms` integer;