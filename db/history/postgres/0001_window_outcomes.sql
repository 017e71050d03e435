-- What tables of outcomes say of windows.

CREATE TABLE window_outcome (
  window_start_ms bigint NOT NULL,
  coin text COLLATE "C" NOT NULL,
  timeframe text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  winner text COLLATE "C" NOT NULL,
  strike text COLLATE "C",
  final_price text COLLATE "C",
  checksum bigint NOT NULL,
  PRIMARY KEY (window_start_ms, coin, timeframe, source, winner)
);
