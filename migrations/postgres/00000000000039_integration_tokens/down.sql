DROP TABLE integration_consents;
DROP TABLE integration_tokens;
