ALTER TABLE `market` ADD `settlement_rule` text;--> statement-breakpoint
ALTER TABLE `market` ADD `strike_source` text;--> statement-breakpoint
ALTER TABLE `market` ADD `strike_ms` integer;--> statement-breakpoint
ALTER TABLE `market` ADD `final_price_source` text;--> statement-breakpoint
ALTER TABLE `market` ADD `final_price_ms` integer;