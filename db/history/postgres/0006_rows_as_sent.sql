-- Totals, counts and ids come with the rows that the verbs of Bookfeed send, so that nothing here makes them (src/extensions/postgres/surround.ts).

DROP TRIGGER IF EXISTS coin_total_insert ON market;
DROP TRIGGER IF EXISTS coin_total_update ON market;
DROP FUNCTION IF EXISTS keep_coin_total();
DROP TRIGGER IF EXISTS coin_total_seal ON coin_total;
DROP FUNCTION IF EXISTS seal_coin_total();

DROP TRIGGER IF EXISTS chunk_insert ON chunk;
DROP TRIGGER IF EXISTS chunk_delete ON chunk;
DROP TRIGGER IF EXISTS chunk_replace ON chunk;
DROP FUNCTION IF EXISTS count_chunk(), count_replaced();
DROP TABLE IF EXISTS stored;

-- The greatest ids that were given, as SQLite keeps them in each copy: none is given twice.
CREATE TABLE sqlite_sequence (
  name text COLLATE "C" PRIMARY KEY,
  seq bigint NOT NULL
);
INSERT INTO sqlite_sequence
  SELECT 'chunk', last_value FROM chunk_id_seq WHERE is_called
  UNION ALL SELECT 'segment', last_value FROM segment_id_seq WHERE is_called;
SELECT log_table('sqlite_sequence', 'name');
ALTER TABLE chunk ALTER id DROP IDENTITY;
ALTER TABLE segment ALTER id DROP IDENTITY;

-- Many rows of `tail` are sent in one statement: one entry for each market of a statement. The trigger for each row logged every
-- row, because PostgreSQL looks at its condition before the function has noted what was logged.
DROP TRIGGER tail_log_insert ON tail;
DROP FUNCTION log_tail();
CREATE TRIGGER tail_log_insert AFTER INSERT ON tail REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION log_tails();
