-- After db/postgres/change_log.sql.

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
