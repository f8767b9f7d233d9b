DO $$ DECLARE name text; BEGIN
  FOREACH name IN ARRAY ARRAY['kds_service', 'kds_tokens', 'kds_reader'] LOOP
    IF to_regrole(name) IS NULL THEN
      BEGIN
        EXECUTE format('CREATE ROLE %I NOLOGIN NOBYPASSRLS', name);
      EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
        NULL;
      END;
    END IF;
  END LOOP;

  IF to_regrole('kds_service') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA kds TO kds_service;
    GRANT SELECT ON kds.version TO kds_service;
    GRANT SELECT, INSERT ON kds.tenant TO kds_service;
    GRANT EXECUTE ON FUNCTION kds.person_of TO kds_service;
    IF NOT pg_has_role('kds_service', 'kds_member', 'SET') THEN
      BEGIN
        GRANT kds_member TO kds_service WITH INHERIT FALSE, SET TRUE;
      EXCEPTION WHEN insufficient_privilege THEN
        NULL;
      END;
    END IF;
  END IF;

  IF to_regrole('kds_tokens') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA kds TO kds_tokens;
    GRANT SELECT ON kds.version TO kds_tokens;
    GRANT SELECT, INSERT, UPDATE(revoked_at) ON kds.token TO kds_tokens;
    GRANT SELECT, INSERT(organisation, actor, action, person) ON kds.audit TO kds_tokens;
  END IF;

  IF to_regrole('kds_reader') IS NOT NULL THEN
    FOREACH name IN ARRAY ARRAY[{schemas}] LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO kds_reader', name);
      EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO kds_reader', name);
      EXECUTE format('GRANT SELECT ON ALL SEQUENCES IN SCHEMA %I TO kds_reader', name);
    END LOOP;
  END IF;
END $$
