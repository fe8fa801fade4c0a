DROP TABLE integration_connections;
DROP TABLE invitations;
DROP TABLE account_seats;
