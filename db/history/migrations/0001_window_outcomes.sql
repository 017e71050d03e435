CREATE TABLE `window_outcome` (
	`window_start_ms` integer NOT NULL,
	`coin` text NOT NULL,
	`timeframe` text NOT NULL,
	`source` text NOT NULL,
	`winner` text NOT NULL,
	`strike` text,
	`final_price` text,
	`checksum` integer NOT NULL,
	PRIMARY KEY(`window_start_ms`, `coin`, `timeframe`, `source`, `winner`)
);
