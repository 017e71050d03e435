DROP TABLE `market_event`;--> statement-breakpoint
DROP TABLE `moment`;--> statement-breakpoint
DROP TABLE `spot_moment`;--> statement-breakpoint
DROP TABLE `trade_moment`;