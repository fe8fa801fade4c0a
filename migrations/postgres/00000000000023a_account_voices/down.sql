DROP TABLE account_voices;
