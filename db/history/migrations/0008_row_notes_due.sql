-- Gaps of books that contradict their hash follow from the rows now; those that an import recorded go.
UPDATE market SET revision = revision + 1, gap_revision = gap_revision + 1
WHERE id IN (SELECT market_id FROM gap WHERE is_derived = 0 AND reason = 'hash_mismatch');
--> statement-breakpoint
DELETE FROM gap WHERE is_derived = 0 AND reason = 'hash_mismatch';
--> statement-breakpoint
-- What SQL cannot do, market after market from this id on: src/store/backfill.ts.
INSERT OR REPLACE INTO meta (key, value) SELECT 'coverage_due', 0 WHERE EXISTS (SELECT 1 FROM market);
