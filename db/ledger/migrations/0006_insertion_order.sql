DROP INDEX `offer_amount`;--> statement-breakpoint
ALTER TABLE `offer` ADD `seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `offer_seq` ON `offer` (`seq`);--> statement-breakpoint
CREATE INDEX `offer_amount` ON `offer` (`network`,`asset`,`amount`,`payer`,`seq`);--> statement-breakpoint
ALTER TABLE `api_key` ADD `seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `api_key_seq` ON `api_key` (`seq`);--> statement-breakpoint
ALTER TABLE `subscription` ADD `seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `subscription_seq` ON `subscription` (`seq`);--> statement-breakpoint
UPDATE `offer` SET `seq` = rowid;--> statement-breakpoint
UPDATE `api_key` SET `seq` = rowid;--> statement-breakpoint
UPDATE `subscription` SET `seq` = rowid;
