CREATE TRIGGER `audit_no_replace` BEFORE INSERT ON `audit` WHEN EXISTS (SELECT 1 FROM `audit` WHERE `seq` = NEW.`seq`) BEGIN SELECT RAISE(ABORT, 'audit rows are never replaced'); END;
