CREATE TABLE `evidence` (
	`market_id` integer PRIMARY KEY NOT NULL,
	`said` text NOT NULL,
	`checksum` integer NOT NULL
);
