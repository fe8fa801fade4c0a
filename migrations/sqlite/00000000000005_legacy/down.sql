DROP TABLE legacy_agents;
DROP TABLE provider_credentials;
