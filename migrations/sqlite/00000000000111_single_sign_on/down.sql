ALTER TABLE portal_sessions DROP COLUMN by_single_sign_on;
DROP TABLE single_sign_on;
