CREATE TABLE `offer` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`terms` text NOT NULL,
	`period_days` integer NOT NULL,
	`symbol` text NOT NULL,
	`method` text NOT NULL,
	`network` text NOT NULL,
	`asset` text NOT NULL,
	`amount` text NOT NULL,
	`requirements` text NOT NULL,
	`from_block` integer NOT NULL,
	`created_ms` integer NOT NULL,
	`expires_ms` integer NOT NULL,
	`reserved_until_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `offer_reserved` ON `offer` (`network`,`asset`,`reserved_until_ms`,`amount`);--> statement-breakpoint
CREATE INDEX `offer_amount` ON `offer` (`network`,`asset`,`amount`);--> statement-breakpoint
CREATE INDEX `offer_account` ON `offer` (`account_id`,`reserved_until_ms`);--> statement-breakpoint
CREATE TABLE `payment` (
	`id` text PRIMARY KEY NOT NULL,
	`offer_id` text NOT NULL,
	`account_id` text NOT NULL,
	`state` text NOT NULL,
	`network` text NOT NULL,
	`method` text NOT NULL,
	`asset` text NOT NULL,
	`payer` text NOT NULL,
	`pay_to` text NOT NULL,
	`amount` text NOT NULL,
	`valid_after` text NOT NULL,
	`valid_before` text NOT NULL,
	`nonce` text NOT NULL,
	`nonce_contract` text NOT NULL,
	`payload_hash` text NOT NULL,
	`payload` text NOT NULL,
	`attempts` integer NOT NULL,
	`lease_until_ms` integer,
	`tx_hash` text,
	`proof_tx_hash` text,
	`block_number` integer,
	`log_index` integer,
	`reason` text,
	`resolution` text,
	`created_ms` integer NOT NULL,
	`updated_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `payment_nonce` ON `payment` (`network`,`nonce_contract`,`payer`,`nonce`);--> statement-breakpoint
CREATE UNIQUE INDEX `payment_proof` ON `payment` (`network`,`proof_tx_hash`,`log_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `payment_offer` ON `payment` (`offer_id`) WHERE state NOT IN ('rejected', 'void', 'review');--> statement-breakpoint
CREATE INDEX `payment_of_offer` ON `payment` (`offer_id`);--> statement-breakpoint
CREATE INDEX `payment_account` ON `payment` (`account_id`,`created_ms`,`id`);--> statement-breakpoint
CREATE INDEX `payment_created` ON `payment` (`created_ms`,`id`);--> statement-breakpoint
CREATE INDEX `payment_state` ON `payment` (`state`);--> statement-breakpoint
CREATE TABLE `scanned_block` (
	`network` text PRIMARY KEY NOT NULL,
	`block_number` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `unmatched_transfer` (
	`id` text PRIMARY KEY NOT NULL,
	`network` text NOT NULL,
	`asset` text NOT NULL,
	`from_address` text NOT NULL,
	`amount` text NOT NULL,
	`tx_hash` text NOT NULL,
	`block_number` integer NOT NULL,
	`log_index` integer NOT NULL,
	`found_ms` integer NOT NULL,
	`resolution` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `unmatched_transfer_log` ON `unmatched_transfer` (`network`,`tx_hash`,`log_index`);