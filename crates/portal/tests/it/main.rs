//! Tests of the portal over a running service: what a browser without script would see.

mod agents;
mod analyses;
mod calls;
mod developers;
mod integrations;
mod knowledge;
mod stock;
mod world;
