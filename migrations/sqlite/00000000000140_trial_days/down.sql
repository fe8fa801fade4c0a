DROP TABLE trial_days;
