-- They noted what was known at a moment, which no route answers any more.
DROP TABLE market_event, moment, spot_moment, trade_moment;
DROP FUNCTION log_market_event(), log_moment(), log_spot_moment(), log_trade_moment();
