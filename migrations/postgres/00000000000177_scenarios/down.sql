ALTER TABLE trial_days DROP COLUMN tests;
DROP TABLE test_results;
DROP TABLE test_runs;
DROP TABLE scenarios;
