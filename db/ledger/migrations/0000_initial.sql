-- The ledger of 0.5.0. Each text is as SQLite keeps it in files of 0.5.0, with columns that were added in between: it is compared.
CREATE TABLE `account` (
	`id` text PRIMARY KEY NOT NULL,
	`address` text,
	`label` text,
	`created_ms` integer NOT NULL,
	`blocked_ms` integer
);--> statement-breakpoint
CREATE UNIQUE INDEX `account_address_unique` ON `account` (`address`);
--> statement-breakpoint
CREATE TABLE `api_key` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`digest` blob NOT NULL,
	`hint` text NOT NULL,
	`label` text,
	`family_id` text NOT NULL,
	`created_ms` integer NOT NULL,
	`expires_ms` integer,
	`revoked_ms` integer,
	`last_used_ms` integer
, `seq` integer DEFAULT 0 NOT NULL);--> statement-breakpoint
CREATE UNIQUE INDEX `api_key_digest_unique` ON `api_key` (`digest`);--> statement-breakpoint
CREATE INDEX `api_key_account` ON `api_key` (`account_id`,`created_ms`);
--> statement-breakpoint
CREATE TABLE `audit` (
	`seq` integer PRIMARY KEY NOT NULL,
	`time_ms` integer NOT NULL,
	`actor` text NOT NULL,
	`action` text NOT NULL,
	`subject` text NOT NULL,
	`state` text NOT NULL,
	`hash` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `idempotency` (
	`id` text PRIMARY KEY NOT NULL,
	`fingerprint` text NOT NULL,
	`sealed` blob NOT NULL,
	`created_ms` integer NOT NULL
, `seal` integer);
--> statement-breakpoint
CREATE TABLE `meta` (
	`key` text PRIMARY KEY NOT NULL,
	`value` blob NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sanctions_address` (
	`address` text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sanctions_list` (
	`id` integer PRIMARY KEY NOT NULL,
	`published_on` text NOT NULL,
	`confirmed_ms` integer NOT NULL,
	`sha256` text NOT NULL,
	`entry_count` integer NOT NULL
, `seal` integer);
--> statement-breakpoint
CREATE TABLE `subscription` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`tier_id` text NOT NULL,
	`terms` text,
	`start_ms` integer NOT NULL,
	`end_ms` integer,
	`payment_id` text,
	`created_ms` integer NOT NULL
, `seq` integer DEFAULT 0 NOT NULL);--> statement-breakpoint
CREATE UNIQUE INDEX `subscription_payment_id_unique` ON `subscription` (`payment_id`);--> statement-breakpoint
CREATE INDEX `subscription_account` ON `subscription` (`account_id`,`start_ms`);
--> statement-breakpoint
CREATE TABLE `tier` (
	`id` text PRIMARY KEY NOT NULL,
	`rank` integer NOT NULL,
	`name` text NOT NULL,
	`coins` text NOT NULL,
	`routes` text NOT NULL,
	`requests_per_minute` integer NOT NULL,
	`amount_micros` integer,
	`period_days` integer,
	`is_for_sale` integer NOT NULL,
	`contact` text
, `requests` integer);--> statement-breakpoint
CREATE UNIQUE INDEX `tier_rank_unique` ON `tier` (`rank`);
--> statement-breakpoint
CREATE TABLE `usage` (
	`key_id` text NOT NULL,
	`day` text NOT NULL,
	`route` text NOT NULL,
	`requests` integer NOT NULL,
	`bytes` integer NOT NULL, `seal` integer,
	PRIMARY KEY(`key_id`, `day`, `route`)
);
--> statement-breakpoint
CREATE TABLE `used_nonce` (
	`nonce` text PRIMARY KEY NOT NULL,
	`expires_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE TRIGGER `audit_no_update` BEFORE UPDATE ON `audit` BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END;
--> statement-breakpoint
CREATE TRIGGER `audit_no_delete` BEFORE DELETE ON `audit` BEGIN SELECT RAISE(ABORT, 'audit rows are never deleted'); END;
--> statement-breakpoint
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
, `payer` text, `seq` integer DEFAULT 0 NOT NULL, `requests` integer);--> statement-breakpoint
CREATE INDEX `offer_account` ON `offer` (`account_id`,`reserved_until_ms`);
--> statement-breakpoint
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
, `identifier` text);--> statement-breakpoint
CREATE UNIQUE INDEX `payment_nonce` ON `payment` (`network`,`nonce_contract`,`payer`,`nonce`);--> statement-breakpoint
CREATE UNIQUE INDEX `payment_proof` ON `payment` (`network`,`proof_tx_hash`,`log_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `payment_offer` ON `payment` (`offer_id`) WHERE state NOT IN ('rejected', 'void', 'review');--> statement-breakpoint
CREATE INDEX `payment_of_offer` ON `payment` (`offer_id`);--> statement-breakpoint
CREATE INDEX `payment_account` ON `payment` (`account_id`,`created_ms`,`id`);--> statement-breakpoint
CREATE INDEX `payment_created` ON `payment` (`created_ms`,`id`);
--> statement-breakpoint
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
);--> statement-breakpoint
CREATE UNIQUE INDEX `unmatched_transfer_log` ON `unmatched_transfer` (`network`,`tx_hash`,`log_index`);
--> statement-breakpoint
CREATE TRIGGER `audit_no_replace` BEFORE INSERT ON `audit` WHEN EXISTS (SELECT 1 FROM `audit` WHERE `seq` = NEW.`seq`) BEGIN SELECT RAISE(ABORT, 'audit rows are never replaced'); END;--> statement-breakpoint
CREATE INDEX `offer_reserved` ON `offer` (`reserved_until_ms`);--> statement-breakpoint
CREATE INDEX `payment_payer` ON `payment` (`payer`,`amount`);--> statement-breakpoint
CREATE INDEX `payment_state` ON `payment` (`state`,`created_ms`,`id`);--> statement-breakpoint
CREATE INDEX `audit_operator` ON `audit` (`subject`) WHERE actor = 'operator';--> statement-breakpoint
CREATE INDEX `offer_seq` ON `offer` (`seq`);--> statement-breakpoint
CREATE INDEX `offer_amount` ON `offer` (`network`,`asset`,`amount`,`payer`,`seq`);--> statement-breakpoint
CREATE INDEX `api_key_seq` ON `api_key` (`seq`);--> statement-breakpoint
CREATE INDEX `subscription_seq` ON `subscription` (`seq`);
--> statement-breakpoint
CREATE TABLE `credit` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`terms` text NOT NULL,
	`requests` integer NOT NULL,
	`used` integer NOT NULL,
	`created_ms` integer NOT NULL
, `seal` integer);--> statement-breakpoint
CREATE INDEX `credit_account` ON `credit` (`account_id`,`created_ms`);--> statement-breakpoint
CREATE INDEX `payment_identifier` ON `payment` (`payer`,`identifier`) WHERE identifier IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `paid_answer` (
	`id` text PRIMARY KEY NOT NULL,
	`address` text NOT NULL,
	`answers` integer NOT NULL,
	`delivered_ms` integer
, `seal` integer);
