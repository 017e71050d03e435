-- Seals of rows that the audit chain does not carry.

ALTER TABLE credit ADD COLUMN seal bigint;
ALTER TABLE idempotency ADD COLUMN seal bigint;
ALTER TABLE sanctions_list ADD COLUMN seal bigint;
ALTER TABLE usage ADD COLUMN seal bigint;
