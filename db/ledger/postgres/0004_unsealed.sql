-- A ledger of a version without seals is marked, to be sealed once: where neither mark nor seal is, a row is gone.

INSERT INTO meta (key, value)
SELECT 'challenge_seal', '\x00'::bytea
WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'challenge_key')
  AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'challenge_seal');
