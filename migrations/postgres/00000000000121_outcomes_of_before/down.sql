UPDATE conversations SET outcome = NULL WHERE outcome IS NOT NULL;
