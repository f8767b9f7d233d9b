-- Owner, service and tokens, and the database: run once by the administrator, as compose.yaml does.
--   KDS_PASSWORD=... psql --file=roles.sql postgresql://postgres@db.example/postgres
\getenv password KDS_PASSWORD
CREATE ROLE kds_member NOLOGIN NOINHERIT;
CREATE ROLE kds_service NOLOGIN;
CREATE ROLE kds_tokens NOLOGIN;
CREATE ROLE kds_reader NOLOGIN;
GRANT kds_member TO kds_service WITH INHERIT FALSE, SET TRUE;
CREATE ROLE kds LOGIN PASSWORD :'password';
GRANT kds_member, kds_reader TO kds WITH INHERIT FALSE, SET TRUE;
CREATE ROLE kds_web LOGIN PASSWORD :'password' IN ROLE kds_service;
CREATE ROLE kds_admin LOGIN PASSWORD :'password' IN ROLE kds_tokens;
CREATE DATABASE kds OWNER kds;
\connect kds
CREATE EXTENSION vector;
