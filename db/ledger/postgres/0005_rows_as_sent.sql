-- Servers learn of changes from their log.
DROP TRIGGER IF EXISTS tier_notify ON tier;
DROP TRIGGER IF EXISTS account_notify ON account;
DROP TRIGGER IF EXISTS subscription_notify ON subscription;
DROP TRIGGER IF EXISTS api_key_notify ON api_key;
DROP TRIGGER IF EXISTS sanctions_notify ON sanctions_list;
DROP FUNCTION IF EXISTS notify_change();
DROP TABLE IF EXISTS change_count;
