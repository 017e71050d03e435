CREATE TABLE `coin_total` (
	`coin` text NOT NULL,
	`timeframe` text NOT NULL,
	`source` text NOT NULL,
	`markets` integer NOT NULL,
	`snapshots` integer NOT NULL,
	`first_ms` integer,
	`last_ms` integer,
	PRIMARY KEY(`coin`, `timeframe`, `source`)
);
