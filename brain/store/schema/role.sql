DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'kds_member') THEN
    BEGIN
      CREATE ROLE kds_member NOLOGIN NOINHERIT NOBYPASSRLS;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
      NULL;
    END;
  END IF;
  IF NOT pg_has_role(current_user, 'kds_member', 'SET') THEN
    EXECUTE format('GRANT kds_member TO %I', current_user);
  END IF;
END $$
