CREATE TABLE `recorder` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`coins` text NOT NULL,
	`timeframes` text NOT NULL,
	`started_ms` integer NOT NULL,
	`sign_ms` integer NOT NULL,
	`checksum` integer NOT NULL
);
