CREATE TABLE `trade_chain` (
	`trade_id` integer PRIMARY KEY NOT NULL,
	`is_success` integer NOT NULL,
	`checksum` integer NOT NULL
);
