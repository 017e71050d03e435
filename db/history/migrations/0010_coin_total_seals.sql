CREATE TRIGGER `coin_total_seal_insert` AFTER INSERT ON `coin_total` BEGIN
  UPDATE coin_total SET checksum = (markets * 1000003 + snapshots * 7919 + ifnull(first_ms, 1) * 31 + ifnull(last_ms, 1) * 17) & 281474976710655
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;
--> statement-breakpoint
CREATE TRIGGER `coin_total_seal_update` AFTER UPDATE OF `markets`, `snapshots`, `first_ms`, `last_ms` ON `coin_total` BEGIN
  UPDATE coin_total SET checksum = (markets * 1000003 + snapshots * 7919 + ifnull(first_ms, 1) * 31 + ifnull(last_ms, 1) * 17) & 281474976710655
  WHERE coin = new.coin AND timeframe = new.timeframe AND source = new.source;
END;
--> statement-breakpoint
UPDATE coin_total SET markets = markets;
