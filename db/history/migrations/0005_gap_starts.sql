-- A derived gap began at the snapshot before it, which is known; it begins a millisecond later. The gaps that were
-- recorded say what their recorder saw.
UPDATE market SET revision = revision + 1, gap_revision = gap_revision + 1
WHERE id IN (SELECT market_id FROM gap WHERE is_derived = 1);
--> statement-breakpoint
UPDATE gap SET from_ms = from_ms + 1 WHERE is_derived = 1;
