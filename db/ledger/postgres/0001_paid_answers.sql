-- What payments for single requests were answered with.

CREATE TABLE paid_answer (
  id text COLLATE "C" PRIMARY KEY,
  address text COLLATE "C" NOT NULL,
  answers bigint NOT NULL,
  delivered_ms bigint
);
