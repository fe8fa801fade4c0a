//! The interface from outside: the real binary on SQLite and on PostgreSQL, spoken to over HTTP.

mod administration;
mod agents;
mod auth;
mod backups;
mod billing;
mod bodies;
mod both_values;
mod calls;
mod carrier_down;
mod chats;
mod conversations;
mod crashes;
mod deliveries;
mod demo;
mod doctor;
mod doctor_legacy;
mod doctor_stores;
mod doctor_whatsapp;
mod embeddings;
mod enabling;
mod faults;
mod files_apart;
#[cfg(test)]
mod fuzzed;
mod hang_up;
mod hostile;
mod idempotency;
#[cfg(test)]
mod inbound;
mod knowledge;
mod legacy;
mod legacy_provider;
mod limits;
mod logs;
mod metrics;
mod metrics_limits;
mod nodes;
mod objects;
mod outages;
mod outcomes;
mod phones;
mod plan_changes;
mod portal;
mod privacy;
mod raw;
mod redis;
mod redis_apart;
#[cfg(test)]
mod refusals;
mod rekey;
mod retries;
#[cfg(test)]
mod samples;
mod sign_in;
mod spoken;
mod statuses;
mod stopping;
mod talks;
mod tls;
mod tools;
mod traces;
mod trunk;
mod twilio;
#[cfg(test)]
mod verifiers;
mod voices;
mod wallet;
mod whatsapp;
