-- What the sources of imports said of a market's books.

CREATE TABLE evidence (
  market_id bigint PRIMARY KEY,
  said text COLLATE "C" NOT NULL,
  checksum bigint NOT NULL
);
