ALTER TABLE `credit` RENAME COLUMN "seal" TO "checksum";--> statement-breakpoint
ALTER TABLE `idempotency` RENAME COLUMN "seal" TO "checksum";--> statement-breakpoint
ALTER TABLE `paid_answer` RENAME COLUMN "seal" TO "checksum";--> statement-breakpoint
ALTER TABLE `sanctions_list` RENAME COLUMN "seal" TO "checksum";--> statement-breakpoint
ALTER TABLE `usage` DROP COLUMN `seal`;