-- The last sign of life of each recorder that did not end in order.
CREATE TABLE recorder (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  coins text COLLATE "C" NOT NULL,
  timeframes text COLLATE "C" NOT NULL,
  started_ms bigint NOT NULL,
  sign_ms bigint NOT NULL,
  checksum bigint NOT NULL
);
SELECT log_table('recorder', 'id');
