-- A connection that names the schema with each table finds what the triggers of the log call, too.

DO $$
DECLARE
  each regprocedure;
BEGIN
  FOR each IN SELECT oid FROM pg_proc
    WHERE pronamespace = CAST(current_schema() AS regnamespace) AND prorettype = CAST('trigger' AS regtype)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path FROM CURRENT', each);
  END LOOP;
END $$;
