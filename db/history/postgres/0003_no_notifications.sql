-- What servers heard of markets before they copied what changed.

DROP TRIGGER market_notify ON market;
DROP FUNCTION notify_market();
DROP SEQUENCE change_count;
