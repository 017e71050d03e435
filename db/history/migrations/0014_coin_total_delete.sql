-- A market has no state more than two days from its window, so the first one is of a market near the oldest.
CREATE TRIGGER `coin_total_delete` AFTER DELETE ON `market` BEGIN
  UPDATE coin_total SET
    markets = markets - 1, snapshots = snapshots - old.up_count - old.down_count,
    first_ms = CASE WHEN old.first_ms > first_ms THEN first_ms ELSE (
      SELECT min(first_ms) FROM market
      WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source AND order_ms <= 432000000 + (
        SELECT order_ms FROM market
        WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source AND first_ms IS NOT NULL
        ORDER BY order_ms LIMIT 1)) END,
    last_ms = CASE WHEN old.last_ms < last_ms THEN last_ms ELSE (
      SELECT max(last_ms) FROM market
      WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source AND order_ms >= -432000000 + (
        SELECT order_ms FROM market
        WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source AND first_ms IS NOT NULL
        ORDER BY order_ms DESC LIMIT 1)) END
  WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source;
  DELETE FROM coin_total
  WHERE coin = old.coin AND timeframe = old.timeframe AND source = old.source AND markets = 0;
END;
