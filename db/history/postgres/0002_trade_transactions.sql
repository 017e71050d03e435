-- The transaction of a trade, and which trade of the same content replaced one without it.

ALTER TABLE trade
  ADD COLUMN transaction_hash text COLLATE "C",
  ADD COLUMN replaced_by bigint;
