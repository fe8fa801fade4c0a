DROP TABLE agent_version_tools;
DROP TABLE tools;
