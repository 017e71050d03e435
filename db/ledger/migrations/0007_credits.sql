CREATE TABLE `credit` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`terms` text NOT NULL,
	`requests` integer NOT NULL,
	`used` integer NOT NULL,
	`created_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `credit_account` ON `credit` (`account_id`,`created_ms`);--> statement-breakpoint
ALTER TABLE `offer` ADD `requests` integer;--> statement-breakpoint
ALTER TABLE `payment` ADD `identifier` text;--> statement-breakpoint
CREATE INDEX `payment_identifier` ON `payment` (`payer`,`identifier`) WHERE identifier IS NOT NULL;--> statement-breakpoint
ALTER TABLE `tier` ADD `requests` integer;