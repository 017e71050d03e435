CREATE INDEX `market_up_asset` ON `market` (`up_asset_id`);--> statement-breakpoint
CREATE INDEX `market_down_asset` ON `market` (`down_asset_id`);