//! The interface from outside: the real binary on SQLite and on PostgreSQL, spoken to over HTTP.

mod administration;
mod agent_faults;
mod agents;
mod auth;
mod bodies;
mod calls;
mod checks;
mod conversations;
mod crashes;
mod deliveries;
mod faults;
mod hang_up;
mod idempotency;
mod legacy;
mod limits;
mod lists;
mod outages;
mod outcomes;
mod privacy;
mod retries;
mod statuses;
mod stopping;
mod tls;
mod wallet;
mod webhooks;
