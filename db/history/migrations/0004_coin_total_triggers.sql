CREATE TRIGGER `coin_total_insert` AFTER INSERT ON `market` BEGIN
  INSERT INTO coin_total (coin, timeframe, source, markets, snapshots, first_ms, last_ms)
  VALUES (new.coin, new.timeframe, new.source, 1, new.up_count + new.down_count, new.first_ms, new.last_ms)
  ON CONFLICT (coin, timeframe, source) DO UPDATE SET
    markets = markets + 1, snapshots = snapshots + excluded.snapshots,
    first_ms = min(ifnull(first_ms, excluded.first_ms), ifnull(excluded.first_ms, first_ms)),
    last_ms = max(ifnull(last_ms, excluded.last_ms), ifnull(excluded.last_ms, last_ms));
END;
--> statement-breakpoint
CREATE TRIGGER `coin_total_update` AFTER UPDATE OF `up_count`, `down_count`, `first_ms`, `last_ms` ON `market` BEGIN
  UPDATE coin_total SET
    snapshots = snapshots + new.up_count + new.down_count - old.up_count - old.down_count,
    first_ms = min(ifnull(first_ms, new.first_ms), ifnull(new.first_ms, first_ms)),
    last_ms = max(ifnull(last_ms, new.last_ms), ifnull(new.last_ms, last_ms))
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;
--> statement-breakpoint
INSERT INTO coin_total (coin, timeframe, source, markets, snapshots, first_ms, last_ms)
SELECT coin, timeframe, source, count(*), sum(up_count + down_count), min(first_ms), max(last_ms)
FROM market GROUP BY coin, timeframe, source;
