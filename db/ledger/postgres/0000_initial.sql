-- The ledger of 0.5.0 on PostgreSQL: the tables of db/ledger/schema.ts. Later changes are files of their own.
-- Texts are ordered by their bytes, as in SQLite.

CREATE TABLE account (
  id text COLLATE "C" PRIMARY KEY,
  address text COLLATE "C" UNIQUE,
  label text COLLATE "C",
  created_ms bigint NOT NULL,
  blocked_ms bigint
);

CREATE TABLE api_key (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  digest bytea NOT NULL UNIQUE,
  hint text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  family_id text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint,
  revoked_ms bigint,
  last_used_ms bigint,
  seq bigint NOT NULL DEFAULT 0
);
CREATE INDEX api_key_account ON api_key (account_id, created_ms);
CREATE INDEX api_key_seq ON api_key (seq);

CREATE TABLE audit (
  seq bigint PRIMARY KEY,
  time_ms bigint NOT NULL,
  actor text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  hash bytea NOT NULL
);
CREATE INDEX audit_operator ON audit (subject) WHERE actor = 'operator';

CREATE TABLE credit (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  terms text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  used bigint NOT NULL,
  created_ms bigint NOT NULL,
  seal bigint
);
CREATE INDEX credit_account ON credit (account_id, created_ms);

CREATE TABLE idempotency (
  id text COLLATE "C" PRIMARY KEY,
  fingerprint text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  created_ms bigint NOT NULL,
  seal bigint
);

CREATE TABLE meta (
  key text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

CREATE TABLE offer (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  payer text COLLATE "C",
  terms text COLLATE "C" NOT NULL,
  period_days bigint NOT NULL,
  requests bigint,
  symbol text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  network text COLLATE "C" NOT NULL,
  asset text COLLATE "C" NOT NULL,
  amount text COLLATE "C" NOT NULL,
  requirements text COLLATE "C" NOT NULL,
  from_block bigint NOT NULL,
  created_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  reserved_until_ms bigint NOT NULL,
  seq bigint NOT NULL DEFAULT 0
);
CREATE INDEX offer_seq ON offer (seq);
CREATE INDEX offer_reserved ON offer (reserved_until_ms);
CREATE INDEX offer_amount ON offer (network, asset, amount, payer, seq);
CREATE INDEX offer_account ON offer (account_id, reserved_until_ms);

CREATE TABLE paid_answer (
  id text COLLATE "C" PRIMARY KEY,
  address text COLLATE "C" NOT NULL,
  answers bigint NOT NULL,
  delivered_ms bigint,
  seal bigint
);

CREATE TABLE payment (
  id text COLLATE "C" PRIMARY KEY,
  offer_id text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  network text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  asset text COLLATE "C" NOT NULL,
  payer text COLLATE "C" NOT NULL,
  pay_to text COLLATE "C" NOT NULL,
  amount text COLLATE "C" NOT NULL,
  valid_after text COLLATE "C" NOT NULL,
  valid_before text COLLATE "C" NOT NULL,
  nonce text COLLATE "C" NOT NULL,
  nonce_contract text COLLATE "C" NOT NULL,
  identifier text COLLATE "C",
  payload_hash text COLLATE "C" NOT NULL,
  payload text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  lease_until_ms bigint,
  tx_hash text COLLATE "C",
  proof_tx_hash text COLLATE "C",
  block_number bigint,
  log_index bigint,
  reason text COLLATE "C",
  resolution text COLLATE "C",
  created_ms bigint NOT NULL,
  updated_ms bigint NOT NULL
);
CREATE UNIQUE INDEX payment_nonce ON payment (network, nonce_contract, payer, nonce);
CREATE UNIQUE INDEX payment_proof ON payment (network, proof_tx_hash, log_index);
CREATE UNIQUE INDEX payment_offer ON payment (offer_id) WHERE state NOT IN ('rejected', 'void', 'review');
CREATE INDEX payment_identifier ON payment (payer, identifier) WHERE identifier IS NOT NULL;
CREATE INDEX payment_of_offer ON payment (offer_id);
CREATE INDEX payment_account ON payment (account_id, created_ms, id);
CREATE INDEX payment_created ON payment (created_ms, id);
CREATE INDEX payment_state ON payment (state, created_ms, id);
CREATE INDEX payment_payer ON payment (payer, amount);

CREATE TABLE sanctions_address (
  address text COLLATE "C" PRIMARY KEY
);

CREATE TABLE sanctions_list (
  id bigint PRIMARY KEY,
  published_on text COLLATE "C" NOT NULL,
  confirmed_ms bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  entry_count bigint NOT NULL,
  seal bigint
);

CREATE TABLE scanned_block (
  network text COLLATE "C" PRIMARY KEY,
  block_number bigint NOT NULL
);

CREATE TABLE subscription (
  id text COLLATE "C" PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL,
  tier_id text COLLATE "C" NOT NULL,
  terms text COLLATE "C",
  start_ms bigint NOT NULL,
  end_ms bigint,
  payment_id text COLLATE "C" UNIQUE,
  created_ms bigint NOT NULL,
  seq bigint NOT NULL DEFAULT 0
);
CREATE INDEX subscription_account ON subscription (account_id, start_ms);
CREATE INDEX subscription_seq ON subscription (seq);

CREATE TABLE tier (
  id text COLLATE "C" PRIMARY KEY,
  rank bigint NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  coins text COLLATE "C" NOT NULL,
  routes text COLLATE "C" NOT NULL,
  requests_per_minute bigint NOT NULL,
  amount_micros bigint,
  period_days bigint,
  requests bigint,
  is_for_sale bigint NOT NULL,
  contact text COLLATE "C"
);

CREATE TABLE unmatched_transfer (
  id text COLLATE "C" PRIMARY KEY,
  network text COLLATE "C" NOT NULL,
  asset text COLLATE "C" NOT NULL,
  from_address text COLLATE "C" NOT NULL,
  amount text COLLATE "C" NOT NULL,
  tx_hash text COLLATE "C" NOT NULL,
  block_number bigint NOT NULL,
  log_index bigint NOT NULL,
  found_ms bigint NOT NULL,
  resolution text COLLATE "C"
);
CREATE UNIQUE INDEX unmatched_transfer_log ON unmatched_transfer (network, tx_hash, log_index);

CREATE TABLE usage (
  key_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  route text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  bytes bigint NOT NULL,
  seal bigint,
  PRIMARY KEY (key_id, day, route)
);

CREATE TABLE used_nonce (
  nonce text COLLATE "C" PRIMARY KEY,
  expires_ms bigint NOT NULL
);

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit rows are never changed, deleted or replaced';
END $$;
CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

-- Servers learn when it is committed that somebody may do more, or less. By the number one finds out that it missed
-- that, and so does whoever does not listen.
CREATE TABLE change_count (last_value bigint NOT NULL);
INSERT INTO change_count VALUES (0);
CREATE FUNCTION notify_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE change_count SET last_value = last_value + 1;
  PERFORM pg_notify('bookfeed_' || TG_TABLE_SCHEMA, '');
  RETURN NULL;
END $$;
CREATE TRIGGER tier_notify AFTER INSERT OR UPDATE OR DELETE ON tier
  FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
CREATE TRIGGER account_notify AFTER INSERT OR UPDATE OR DELETE ON account
  FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
CREATE TRIGGER subscription_notify AFTER INSERT OR UPDATE OR DELETE ON subscription
  FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
CREATE TRIGGER api_key_notify AFTER INSERT OR UPDATE OF account_id, digest, label, family_id, expires_ms, revoked_ms
  OR DELETE ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
CREATE TRIGGER sanctions_notify AFTER INSERT OR UPDATE OR DELETE ON sanctions_list
  FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
