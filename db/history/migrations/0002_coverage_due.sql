-- Who named the winners that are known already: nobody but the simulator and the imports did until now.
UPDATE market SET winner_source = CASE source WHEN 'simulated' THEN 'simulated' ELSE 'dataset' END WHERE winner IS NOT NULL;
--> statement-breakpoint
-- Spans, silences and gaps follow from columns that SQL cannot read: src/store/backfill.ts does it once.
INSERT INTO meta (key, value) SELECT 'coverage_due', 1 WHERE EXISTS (SELECT 1 FROM market);
