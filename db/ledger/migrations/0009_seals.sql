ALTER TABLE `credit` ADD `seal` integer;--> statement-breakpoint
ALTER TABLE `idempotency` ADD `seal` integer;--> statement-breakpoint
ALTER TABLE `sanctions_list` ADD `seal` integer;--> statement-breakpoint
ALTER TABLE `usage` ADD `seal` integer;