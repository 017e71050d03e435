-- The fees of a market, as the venue's catalogue states them.

ALTER TABLE market ADD COLUMN fee_schedule text COLLATE "C";
