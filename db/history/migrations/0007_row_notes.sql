ALTER TABLE `chunk` ADD `notes` blob DEFAULT x'00' NOT NULL;--> statement-breakpoint
ALTER TABLE `tail` ADD `notes` blob DEFAULT x'00' NOT NULL;