DROP TABLE sign_in_failures;
DROP TABLE sign_in_links;
DROP TABLE portal_sessions;
DROP INDEX members_person;
DROP TABLE people;
-- The key of a batch stays one that may be missing.
