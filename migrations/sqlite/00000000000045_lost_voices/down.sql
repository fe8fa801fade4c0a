DROP TABLE lost_account_voices;
