-- The log of changes, of both stores: servers copy the rows that it names (src/extensions/postgres/replica.ts). An entry is a
-- table and the primary key of a row, whose values a server reads together with the log. Transactions that write run one after the
-- other, so the order of serials is the order of commits. The log keeps its last four million entries.

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
  -- Transactions of Bookfeed hold this lock already (beginWriting in src/extensions/postgres/database.ts); any other takes it here.
  PERFORM pg_advisory_xact_lock(hashtextextended('bookfeed ' || current_schema(), 0));
  INSERT INTO change (at_ms, name, key)
    VALUES (floor(extract(epoch FROM clock_timestamp()) * 1000), name, key) RETURNING serial INTO logged;
  IF logged % 1000 = 0 THEN
    DELETE FROM change WHERE serial <= logged - 4000000;
  END IF;
  PERFORM pg_notify('changes_' || current_schema(), '');
END $$;

-- Makes the triggers that log the changes of a table with this primary key. A setting of the transaction holds the key that was
-- logged last, because one batch updates a market three times.
CREATE FUNCTION log_table(name text, VARIADIC keys text[]) RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
  setting text := quote_literal('bookfeed.logged_' || name);
  of_old text := 'json_build_array(old.' || array_to_string(keys, ', old.') || ')::text';
  of_new text := 'json_build_array(new.' || array_to_string(keys, ', new.') || ')::text';
  isnt_old text := 'current_setting(' || setting || ', true) IS DISTINCT FROM ' || of_old;
  isnt_new text := 'current_setting(' || setting || ', true) IS DISTINCT FROM ' || of_new;
BEGIN
  EXECUTE format($$
    CREATE FUNCTION log_%1$s() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $log$
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

-- A connection may name the schema with each table instead of setting its search path: all functions of triggers set it.
DO $$
DECLARE
  each regprocedure;
BEGIN
  FOR each IN SELECT oid FROM pg_proc
    WHERE pronamespace = CAST(current_schema() AS regnamespace) AND prorettype = CAST('trigger' AS regtype)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path FROM CURRENT', each);
  END LOOP;
END $$;

-- Each server commits a row of its own twice a second: a copy that has the row is not older than the row.
CREATE TABLE heartbeat (
  server text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  at_ms bigint NOT NULL
);

-- The log is never empty: a server copies everything again if the entry that it read last is gone.
SELECT log_change('format', '[]');
