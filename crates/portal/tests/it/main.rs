//! Tests of the portal over a running service: what a browser without script would see.

mod agents;
mod analyses;
mod calls;
mod developers;
mod form;
mod integrations;
mod integrations_attacked;
mod integrations_in_calls;
mod knowledge;
mod sessions;
mod sign_in;
mod spanish;
mod stock;
mod troubles;
mod two_browsers;
mod world;
