DROP INDEX `offer_reserved`;--> statement-breakpoint
DROP INDEX `offer_amount`;--> statement-breakpoint
ALTER TABLE `offer` ADD `payer` text;--> statement-breakpoint
CREATE INDEX `offer_reserved` ON `offer` (`reserved_until_ms`);--> statement-breakpoint
CREATE INDEX `offer_amount` ON `offer` (`network`,`asset`,`amount`,`payer`);--> statement-breakpoint
DROP INDEX `payment_state`;--> statement-breakpoint
CREATE INDEX `payment_payer` ON `payment` (`payer`,`amount`);--> statement-breakpoint
CREATE INDEX `payment_state` ON `payment` (`state`,`created_ms`,`id`);