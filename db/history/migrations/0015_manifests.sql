CREATE TABLE `manifest` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`day` text NOT NULL,
	`revision` integer NOT NULL,
	`made_ms` integer NOT NULL,
	`digest` text NOT NULL,
	`previous` text,
	`signature` text NOT NULL,
	`public_key` text NOT NULL,
	`checksum` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `manifest_day` ON `manifest` (`day`,`revision`);--> statement-breakpoint
CREATE TABLE `manifest_body` (
	`sequence` integer PRIMARY KEY NOT NULL,
	`body` text NOT NULL
);
