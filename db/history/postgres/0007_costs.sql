-- How long the venue holds back an order that takes, and how old an order must be before it can be cancelled.
ALTER TABLE market ADD COLUMN taker_delay_ms bigint;
ALTER TABLE market ADD COLUMN order_age_ms bigint;
