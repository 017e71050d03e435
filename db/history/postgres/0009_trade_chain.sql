-- Whether the chain executed the transaction of a trade.
CREATE TABLE trade_chain (
  trade_id bigint PRIMARY KEY,
  is_success bigint NOT NULL,
  checksum bigint NOT NULL
);
SELECT log_table('trade_chain', 'trade_id');
