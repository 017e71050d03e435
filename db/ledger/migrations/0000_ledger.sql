CREATE TABLE `account` (
	`id` text PRIMARY KEY NOT NULL,
	`address` text,
	`label` text,
	`created_ms` integer NOT NULL,
	`blocked_ms` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `account_address_unique` ON `account` (`address`);--> statement-breakpoint
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
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_key_digest_unique` ON `api_key` (`digest`);--> statement-breakpoint
CREATE INDEX `api_key_account` ON `api_key` (`account_id`,`created_ms`);--> statement-breakpoint
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
);
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
);
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
);
--> statement-breakpoint
CREATE UNIQUE INDEX `subscription_payment_id_unique` ON `subscription` (`payment_id`);--> statement-breakpoint
CREATE INDEX `subscription_account` ON `subscription` (`account_id`,`start_ms`);--> statement-breakpoint
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
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tier_rank_unique` ON `tier` (`rank`);--> statement-breakpoint
CREATE TABLE `usage` (
	`key_id` text NOT NULL,
	`day` text NOT NULL,
	`route` text NOT NULL,
	`requests` integer NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`key_id`, `day`, `route`)
);
--> statement-breakpoint
CREATE TABLE `used_nonce` (
	`nonce` text PRIMARY KEY NOT NULL,
	`expires_ms` integer NOT NULL
);
