-- Seals become checksums: src/ledger/convert-seals.ts gives one to each row. Usage has neither.
ALTER TABLE credit RENAME COLUMN seal TO checksum;
ALTER TABLE idempotency RENAME COLUMN seal TO checksum;
ALTER TABLE paid_answer RENAME COLUMN seal TO checksum;
ALTER TABLE sanctions_list RENAME COLUMN seal TO checksum;
ALTER TABLE usage DROP COLUMN seal;
