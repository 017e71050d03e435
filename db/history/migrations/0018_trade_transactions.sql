ALTER TABLE `trade` ADD `transaction_hash` text;--> statement-breakpoint
ALTER TABLE `trade` ADD `replaced_by` integer;