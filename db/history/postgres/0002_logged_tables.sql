-- After db/postgres/change_log.sql.

SELECT log_table('batch', 'id');
SELECT log_table('chunk', 'id');
SELECT log_table('coin_total', 'coin', 'timeframe', 'source');
SELECT log_table('evidence', 'market_id');
SELECT log_table('gap', 'market_id', 'outcome', 'is_derived', 'from_ms', 'to_ms', 'reason');
SELECT log_table('log_meta', 'key');
SELECT log_table('manifest', 'sequence');
SELECT log_table('manifest_body', 'sequence');
SELECT log_table('market', 'id');
SELECT log_table('market_event', 'id');
SELECT log_table('meta', 'key');
SELECT log_table('moment', 'second');
SELECT log_table('revision', 'id');
SELECT log_table('segment', 'id');
SELECT log_table('spot', 'id');
SELECT log_table('spot_moment', 'second');
SELECT log_table('trade', 'id');
SELECT log_table('trade_moment', 'second');
SELECT log_table('window_outcome', 'window_start_ms', 'coin', 'timeframe', 'source', 'winner');

-- Of an unfinished run, an entry is the market and the time from which its rows differ: an entry for each row would cost as
-- much as the row. Two settings of the transaction hold the market and the time that were logged last.
CREATE FUNCTION log_tail() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM log_change('tail', json_build_array(new.market_id, new.time_ms)::text);
  PERFORM set_config('bookfeed.logged_tail', new.market_id::text, true);
  PERFORM set_config('bookfeed.logged_tail_ms', new.time_ms::text, true);
  RETURN NULL;
END $$;
CREATE TRIGGER tail_log_insert AFTER INSERT ON tail FOR EACH ROW
  WHEN (current_setting('bookfeed.logged_tail', true) IS DISTINCT FROM new.market_id::text
    OR new.time_ms < nullif(current_setting('bookfeed.logged_tail_ms', true), '')::bigint)
  EXECUTE FUNCTION log_tail();
CREATE FUNCTION log_tails() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM log_change('tail', json_build_array(market_id, min(time_ms))::text) FROM changed GROUP BY market_id;
  RETURN NULL;
END $$;
CREATE TRIGGER tail_log_delete AFTER DELETE ON tail REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION log_tails();
CREATE TRIGGER tail_log_from AFTER UPDATE ON tail REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION log_tails();
CREATE TRIGGER tail_log_to AFTER UPDATE ON tail REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION log_tails();

-- Notifications of single markets, which the log replaces.

DROP TRIGGER market_notify ON market;
DROP FUNCTION notify_market();
DROP SEQUENCE change_count;
