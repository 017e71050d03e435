-- The log of changes, from which servers copy the rows that changed (src/extensions/postgres/replica.ts). Writing takes turns, so
-- the order of serials is the order of commits. A row is logged by its table and its primary key, and read when the log
-- is. The log keeps its last four million entries.

CREATE TABLE change (
  serial bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL
);

CREATE FUNCTION log_change(name text, key text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  logged bigint;
BEGIN
  -- As every transaction that writes, which has it already (beginWriting in src/extensions/postgres/database.ts).
  PERFORM pg_advisory_xact_lock(hashtextextended('bookfeed ' || current_schema(), 0));
  INSERT INTO change (at_ms, name, key)
    VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000), name, key) RETURNING serial INTO logged;
  IF logged % 1000 = 0 THEN
    DELETE FROM change WHERE serial <= logged - 4000000;
  END IF;
  PERFORM pg_notify('changes_' || current_schema(), '');
END $$;

-- Logs the changes of a table with this primary key. In a setting of the transaction is the key that was logged last:
-- a market is updated three times by one batch.
CREATE FUNCTION log_table(name text, VARIADIC keys text[]) RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
  setting text := quote_literal('bookfeed.logged_' || name);
  of_old text := 'json_build_array(old.' || array_to_string(keys, ', old.') || ')::text';
  of_new text := 'json_build_array(new.' || array_to_string(keys, ', new.') || ')::text';
  isnt_old text := 'current_setting(' || setting || ', true) IS DISTINCT FROM ' || of_old;
  isnt_new text := 'current_setting(' || setting || ', true) IS DISTINCT FROM ' || of_new;
BEGIN
  EXECUTE format($$
    CREATE FUNCTION log_%1$s() RETURNS trigger LANGUAGE plpgsql AS $log$
    BEGIN
      IF TG_OP <> 'INSERT' AND %4$s THEN
        PERFORM log_change(%2$L, %5$s);
        PERFORM set_config(%3$s, %5$s, true);
      END IF;
      IF TG_OP <> 'DELETE' AND %6$s THEN
        PERFORM log_change(%2$L, %7$s);
        PERFORM set_config(%3$s, %7$s, true);
      END IF;
      RETURN NULL;
    END $log$;
    CREATE TRIGGER %1$s_log_insert AFTER INSERT ON %1$s FOR EACH ROW WHEN (%6$s) EXECUTE FUNCTION log_%1$s();
    CREATE TRIGGER %1$s_log_delete AFTER DELETE ON %1$s FOR EACH ROW WHEN (%4$s) EXECUTE FUNCTION log_%1$s();
    CREATE TRIGGER %1$s_log_update AFTER UPDATE ON %1$s FOR EACH ROW WHEN (%4$s OR %6$s) EXECUTE FUNCTION log_%1$s();
  $$, name, name, setting, isnt_old, of_old, isnt_new, of_new);
END $make$;

SELECT log_table('account', 'id');
SELECT log_table('api_key', 'id');
SELECT log_table('audit', 'seq');
SELECT log_table('credit', 'id');
SELECT log_table('idempotency', 'id');
SELECT log_table('meta', 'key');
SELECT log_table('offer', 'id');
SELECT log_table('paid_answer', 'id');
SELECT log_table('payment', 'id');
SELECT log_table('sanctions_address', 'address');
SELECT log_table('sanctions_list', 'id');
SELECT log_table('scanned_block', 'network');
SELECT log_table('subscription', 'id');
SELECT log_table('tier', 'id');
SELECT log_table('unmatched_transfer', 'id');
SELECT log_table('usage', 'key_id', 'day', 'route');
SELECT log_table('used_nonce', 'nonce');

-- A server that knows that its own row was committed knows that what it reads is not older than that.
CREATE TABLE heartbeat (
  server text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  at_ms bigint NOT NULL
);

-- Never empty: a server that does not find the entry that it read last begins again.
SELECT log_change('format', '[]');
