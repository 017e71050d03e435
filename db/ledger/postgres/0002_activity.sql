CREATE TABLE activity (
  step_ms bigint NOT NULL,
  server text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  errors bigint NOT NULL,
  durations text COLLATE "C" NOT NULL,
  problems text COLLATE "C" NOT NULL,
  recorder_started_ms bigint,
  recorded_rows bigint NOT NULL,
  recorder_lag_ms bigint,
  PRIMARY KEY (step_ms, server)
);
CREATE INDEX payment_updated ON payment (updated_ms);

SELECT log_table('activity', 'step_ms', 'server');
