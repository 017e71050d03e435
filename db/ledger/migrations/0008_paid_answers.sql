CREATE TABLE `paid_answer` (
	`id` text PRIMARY KEY NOT NULL,
	`address` text NOT NULL,
	`answers` integer NOT NULL,
	`delivered_ms` integer
);
