-- What payments for single requests were answered with is sealed, too.

ALTER TABLE paid_answer ADD COLUMN seal bigint;
